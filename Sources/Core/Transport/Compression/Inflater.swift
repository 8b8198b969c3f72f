import CZlib

/// Decompresses messages in order (RFC 7692, section 7.2.2). Confined to its connection.
///
/// Passes on the output in pieces of at most 16 KiB, so the receiver decides how much to keep.
final class Inflater {
    enum Outcome {
        case done
        /// The receiver wants no more output.
        case stopped
        /// The input is not a deflate stream.
        case corrupt
    }

    private static let windowSize = 1 << 15

    private let stream: UnsafeMutablePointer<z_stream>  // zlib keeps a pointer to it

    /// Returns nil if there is no memory.
    init?(windowBits: Int) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard
            inflateInit2_(stream, Int32(-windowBits), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else {
            stream.deallocate()
            return nil
        }
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses the part of a message that one read contained.
    ///
    /// - Parameter take: Receives the output in order; returns false to stop.
    func inflate(_ part: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
        stream.pointee.next_in = UnsafeMutableRawPointer(mutating: part.baseAddress)?.assumingMemoryBound(
            to: UInt8.self)
        stream.pointee.avail_in = UInt32(part.count)
        return withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            repeat {
                stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(buffer.count)
                let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
                let output = buffer[..<(buffer.count - Int(stream.pointee.avail_out))]
                guard output.isEmpty || take(UnsafeRawBufferPointer(rebasing: output)) else { return .stopped }
                switch result {
                case Z_OK: break
                case Z_STREAM_END: guard restart() else { return .corrupt }
                case Z_BUF_ERROR: return .done  // nothing more to do
                case _: return .corrupt
                }
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
            return .done
        }
    }

    /// Ends a message. With the bytes that its sender removed, it must end with a block.
    func finishMessage(_ take: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
        switch Deflater.tail.withUnsafeBytes({ inflate($0, take) }) {
        case .done: stream.pointee.data_type & 128 != 0 ? .done : .corrupt
        case .stopped: .stopped
        case .corrupt: .corrupt
        }
    }

    /// Discards the window. Returns false on failure.
    func reset() -> Bool { inflateReset(stream) == Z_OK }

    /// A final block ends a deflate stream, not the connection's window (section 7.2.3.4).
    private func restart() -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.windowSize) { window in
            var count: UInt32 = 0
            return inflateGetDictionary(stream, window.baseAddress, &count) == Z_OK && inflateReset(stream) == Z_OK
                && inflateSetDictionary(stream, window.baseAddress, count) == Z_OK
        }
    }
}
