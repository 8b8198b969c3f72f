/// The masking of client data (RFC 6455, section 5.3).
package enum FrameMask {
    /// Applies `bytes[i] ^= key[i % 4]`, eight bytes at a time. Applying it twice restores the data.
    package static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        let wide = (UInt64(key) << 32 | UInt64(key)).bigEndian
        var index = 0
        while index + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: key >> (24 - 8 * UInt32(index % 4)))
            index += 1
        }
    }
}
