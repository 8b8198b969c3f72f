import NIOCore

/// A frame in the form in which it is written, shared by all its recipients.
struct EncodedFrame {
    let text: String
    let buffer: ByteBuffer

    init(_ text: String) {
        self.text = text
        buffer = ByteBuffer(string: text)
    }
}
