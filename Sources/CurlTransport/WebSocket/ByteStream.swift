import CLibcurl
import Glibc
import Transport

/// The bytes of a connection that libcurl opened.
///
/// Plain bytes are read and written directly. `curl_easy_recv` and `curl_easy_send`, which TLS needs, look their
/// connection up among all that are open at every call (up to 8.x), so they would make each cost more.
@NetworkActor
struct ByteStream {
    enum Outcome {
        case bytes(Int)
        case wouldBlock
        /// Nil: the peer has closed its side.
        case ended(TransportError?)
    }

    let isPlain: Bool
    private let handle: EasyHandle
    private let descriptor: Int32

    init(_ handle: EasyHandle, descriptor: Int32, isPlain: Bool) {
        self.handle = handle
        self.descriptor = descriptor
        self.isPlain = isPlain
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        if isPlain { return outcome(of: recv(descriptor, buffer.baseAddress, buffer.count, 0)) }
        var count = 0
        let result = curl_easy_recv(handle.raw, buffer.baseAddress, buffer.count, &count)
        return result == CURLE_OK && count == 0 ? .ended(nil) : outcome(of: result, count)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        bytes.withUnsafeBytes { bytes in
            if isPlain {
                return outcome(of: Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
            }
            var count = 0
            return outcome(of: curl_easy_send(handle.raw, bytes.baseAddress, bytes.count, &count), count)
        }
    }

    private func outcome(of count: Int) -> Outcome {
        if count > 0 { return .bytes(count) }
        if count == 0 { return .ended(nil) }
        if errno == EAGAIN || errno == EINTR { return .wouldBlock }
        return .ended(
            TransportError(
                .connectionLost, "the connection to \(handle.server) broke: \(String(cString: strerror(errno)))"))
    }

    private func outcome(of result: CURLcode, _ count: Int) -> Outcome {
        switch result {
        case CURLE_OK: .bytes(count)
        case CURLE_AGAIN: .wouldBlock
        default: .ended(handle.error(for: result))
        }
    }
}
