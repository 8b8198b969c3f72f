import CZlib

/// Compresses messages in order (RFC 7692, section 7.2.1). Confined to its connection.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>  // zlib keeps a pointer to it
    private let keepsContext: Bool

    /// Returns nil if zlib fails: there is no memory, or the window has 8 bits.
    init?(windowBits: Int, keepsContext: Bool) {
        guard windowBits > 8 else { return nil }
        // zlib uses 2^(windowBits + 2) and 2^(memLevel + 9) bytes: the same for each.
        let memLevel = windowBits - 7
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let result = deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, Int32(-windowBits), Int32(memLevel), Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard result == Z_OK else {
            stream.deallocate()
            return nil
        }
        (self.stream, self.keepsContext) = (stream, keepsContext)
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Returns the payload of a message. `message` must be complete.
    func deflate(_ message: [UInt8]) -> [UInt8] {
        guard !message.isEmpty else { return [0] }  // zlib has nothing to flush (section 7.2.3.6)
        var output: [UInt8] = []
        var rest = message[...]
        repeat {
            // zlib counts in 32 bits.
            let piece = rest.prefix(1 << 30)
            rest = rest.dropFirst(piece.count)
            piece.withUnsafeBytes { append($0, isLast: rest.isEmpty, to: &output) }
        } while !rest.isEmpty
        if !keepsContext { deflateReset(stream) }
        output.removeLast(Self.tail.count)
        return output
    }

    private func append(_ piece: UnsafeRawBufferPointer, isLast: Bool, to output: inout [UInt8]) {
        stream.pointee.next_in = UnsafeMutableRawPointer(mutating: piece.baseAddress)?.assumingMemoryBound(
            to: UInt8.self)
        stream.pointee.avail_in = UInt32(piece.count)
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            repeat {
                stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(buffer.count)
                CZlib.deflate(stream, isLast ? Z_SYNC_FLUSH : Z_NO_FLUSH)
                let written = buffer[..<(buffer.count - Int(stream.pointee.avail_out))]
                output += UnsafeRawBufferPointer(rebasing: written)
            } while stream.pointee.avail_out == 0
        }
    }

    /// The end of every flush, which is not sent.
    static let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
}
