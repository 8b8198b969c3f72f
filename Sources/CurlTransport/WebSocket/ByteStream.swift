import CLibcurl
import Glibc
import Transport

/// The bytes of a connection that libcurl opened.
///
/// Plain bytes are read and written directly. `curl_easy_recv` and `curl_easy_send`, which TLS needs, look their
/// connection up among all that are open at every call (up to 8.x), so they would make each cost more.
@NetworkActor
final class ByteStream {
    enum Outcome {
        case bytes(Int)
        case wouldBlock
        /// Nil: the peer has closed its side.
        case ended(TransportError?)
    }

    let isPlain: Bool
    private let handle: EasyHandle
    private let descriptor: Int32
    /// What OpenSSL could not write: it wants to see the same bytes at the same address again (SSL_write(3)).
    private var retry: UnsafeMutableRawBufferPointer?
    /// What is handed to OpenSSL at once: one TLS record.
    private static let recordSize = 16 << 10

    init(_ handle: EasyHandle, descriptor: Int32, isPlain: Bool) {
        self.handle = handle
        self.descriptor = descriptor
        self.isPlain = isPlain
    }

    isolated deinit {
        retry?.deallocate()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        if isPlain { return outcome(of: recv(descriptor, buffer.baseAddress, buffer.count, 0)) }
        var count = 0
        let result = curl_easy_recv(handle.raw, buffer.baseAddress, buffer.count, &count)
        return result == CURLE_OK && count == 0 ? .ended(nil) : outcome(of: result, count)
    }

    /// Writes some of `bytes`. What it does not take must come first at the next call.
    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        bytes.withUnsafeBytes { bytes in
            isPlain
                ? outcome(of: Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
                : writeRecord(bytes)
        }
    }

    private func writeRecord(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        let record = retry ?? .allocate(byteCount: min(bytes.count, Self.recordSize), alignment: 1)
        if retry == nil { record.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<record.count])) }
        var count = 0
        let result = curl_easy_send(handle.raw, record.baseAddress, record.count, &count)
        retry = result == CURLE_AGAIN ? record : nil
        if retry == nil { record.deallocate() }
        return outcome(of: result, count)
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
