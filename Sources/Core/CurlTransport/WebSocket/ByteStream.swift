import CLibcurl
import Glibc
import Transport

/// The bytes of a connection that libcurl opened.
///
/// A plain connection is used without libcurl, which would close it after two minutes because it seems idle. With TLS,
/// libcurl holds the connection's state; there, a separate connection cache isolates it
/// (``EasyHandle/isolateConnection()``).
@NetworkActor
final class ByteStream {
    enum Outcome {
        case bytes(Int)
        case wouldBlock
        /// The end of the stream; nil if the peer closed its side.
        case ended(TransportError?)
    }

    private enum Carrier {
        case plain
        case tls(EasyHandle)
        case closed
    }

    let descriptor: Int32
    private let server: String
    private var carrier: Carrier
    /// The bytes that OpenSSL could not write. It requires the same bytes at the same address again (SSL_write(3)).
    private var retry: UnsafeMutableRawBufferPointer?
    private var end: Outcome?
    /// The amount to pass to OpenSSL at once: one TLS record.
    private static let recordSize = 16 << 10

    /// Takes over the connection that `handle` opened, and the handle with it.
    ///
    /// - Parameter isPlain: Whether the descriptor carries the bytes unencrypted.
    init(takingOver handle: EasyHandle, isPlain: Bool) throws(TransportError) {
        server = handle.server
        let descriptor = handle.activeSocket
        guard isPlain else {
            guard let descriptor else { throw Self.endedAtOnce(server) }
            (self.descriptor, carrier) = (descriptor, .tls(handle))
            return
        }
        let copy = descriptor.map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        CurlMulti.shared.remove(handle)
        guard let copy else { throw Self.endedAtOnce(server) }
        guard copy >= 0 else {
            throw TransportError(.couldNotConnect, "no descriptor is left for the connection to \(server)")
        }
        (self.descriptor, carrier) = (copy, .plain)
    }

    isolated deinit {
        close()
    }

    private static func endedAtOnce(_ server: String) -> TransportError {
        TransportError(.connectionLost, "the connection to \(server) ended at once")
    }

    /// Whether a read that returned less than requested has emptied the descriptor.
    var isPlain: Bool {
        switch carrier {
        case .plain: true
        case .tls, .closed: false
        }
    }

    /// Closes the descriptor. Cancel its watch first.
    func close() {
        switch carrier {
        case .plain: Glibc.close(descriptor)
        case .tls(let handle): CurlMulti.shared.remove(handle)
        case .closed: return
        }
        carrier = .closed
        retry?.deallocate()
        retry = nil
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        switch carrier {
        case .plain:
            return outcome(of: recv(descriptor, buffer.baseAddress, buffer.count, 0))
        case .tls(let handle):
            return readRecords(of: handle, into: buffer)
        case .closed: return .ended(nil)
        }
    }

    /// A call of libcurl returns one TLS record at most, so several calls fill the buffer.
    private func readRecords(of handle: EasyHandle, into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        if let end { return end }
        var filled = 0
        while filled < buffer.count {
            var count = 0
            let result = curl_easy_recv(
                handle.raw, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, &count)
            guard result == CURLE_OK, count > 0 else {
                let outcome = result == CURLE_OK ? .ended(nil) : outcome(of: result, count, handle)
                guard filled > 0 else { return outcome }
                if case .ended = outcome { end = outcome }
                return .bytes(filled)
            }
            filled += count
        }
        return .bytes(filled)
    }

    /// Writes some of `bytes`. Pass the unwritten rest first at the next call.
    func write(_ bytes: ArraySlice<UInt8>) -> Outcome {
        bytes.withUnsafeBytes { bytes in
            switch carrier {
            case .plain: outcome(of: send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
            case .tls(let handle): write(bytes, over: handle)
            case .closed: .ended(nil)
            }
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, over handle: EasyHandle) -> Outcome {
        let record = retry ?? .allocate(byteCount: min(bytes.count, Self.recordSize), alignment: 1)
        if retry == nil { record.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<record.count])) }
        var count = 0
        let result = curl_easy_send(handle.raw, record.baseAddress, record.count, &count)
        retry = result == CURLE_AGAIN ? record : nil
        if retry == nil { record.deallocate() }
        return outcome(of: result, count, handle)
    }

    private func outcome(of count: Int) -> Outcome {
        if count > 0 { return .bytes(count) }
        if count == 0 { return .ended(nil) }
        if errno == EAGAIN || errno == EINTR { return .wouldBlock }
        return .ended(
            TransportError(.connectionLost, "the connection to \(server) broke: \(String(cString: strerror(errno)))"))
    }

    private func outcome(of result: CURLcode, _ count: Int, _ handle: EasyHandle) -> Outcome {
        switch result {
        case CURLE_OK: .bytes(count)
        case CURLE_AGAIN: .wouldBlock
        default: .ended(handle.error(for: result))
        }
    }
}
