import NIOCore

/// A frame as written to the connection, shared by all its recipients.
struct EncodedFrame {
    let text: String
    let buffer: ByteBuffer

    init(_ text: String) {
        self.text = text
        buffer = ByteBuffer(string: text)
    }
}
