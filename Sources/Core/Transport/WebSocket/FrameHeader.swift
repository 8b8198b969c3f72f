/// The head of a frame (RFC 6455, section 5.2):
///
///      0               1               2 …
///     +-+-+-+-+-------+-+-------------+-----------------+----------------+
///     |F|R|R|R| opcode|M| length (7)  | length (16, 64) | masking key    |
///     +-+-+-+-+-------+-+-------------+-----------------+----------------+
struct FrameHeader: Hashable, Sendable {
    enum Opcode: UInt8 {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        var isControl: Bool { rawValue & 0x8 != 0 }
    }

    static let maximumControlPayload = 125

    var isFinal: Bool
    var opcode: Opcode
    var payloadLength: Int
    /// The first reserved bit of RFC 6455: the message that starts here is compressed (RFC 7692, section 6).
    var isCompressed = false

    enum Parsed {
        case needsMore
        case header(FrameHeader, size: Int)
        /// - Parameter String: The violation, as the object of a sentence.
        case violation(String)
    }

    /// The bits that are reserved without an extension, and with compression.
    static let reservedBits: UInt8 = 0x70
    static let reservedBitsWithCompression: UInt8 = 0x30

    /// Parses the head of a frame from a server, which is never masked.
    @inline(__always)
    static func parse(_ bytes: UnsafeRawBufferPointer, at start: Int, reservedBits: UInt8) -> Parsed {
        guard bytes.count - start >= 2 else { return .needsMore }
        let first = bytes[start]
        let second = bytes[start + 1]
        guard first & reservedBits == 0 else {
            return .violation("a frame with a reserved bit set, for which there is no extension")
        }
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            return .violation("a frame with the unknown opcode \(first & 0x0F)")
        }
        guard second & 0x80 == 0 else { return .violation("a masked frame") }
        let isFinal = first & 0x80 != 0
        let isCompressed = first & 0x40 != 0
        let short = Int(second & 0x7F)
        if isCompressed, opcode.isControl || opcode == .continuation {
            return .violation("a compressed frame that cannot begin a message")
        }
        if opcode.isControl {
            guard isFinal else { return .violation("a fragmented control frame") }
            guard short <= maximumControlPayload else {
                return .violation("a control frame of more than \(maximumControlPayload) bytes")
            }
        }
        func header(_ length: Int, size: Int) -> Parsed {
            .header(
                FrameHeader(isFinal: isFinal, opcode: opcode, payloadLength: length, isCompressed: isCompressed),
                size: size)
        }
        switch short {
        case 126:
            guard bytes.count - start >= 4 else { return .needsMore }
            let length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 2, as: UInt16.self)))
            guard length >= 126 else { return .violation("a length that is not in its shortest form") }
            return header(length, size: 4)
        case 127:
            guard bytes.count - start >= 10 else { return .needsMore }
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 2, as: UInt64.self))
            guard length > UInt16.max else { return .violation("a length that is not in its shortest form") }
            guard let length = Int(exactly: length) else { return .violation("a length with its highest bit set") }
            return header(length, size: 10)
        default:
            return header(short, size: 2)
        }
    }

    /// Returns a complete frame from a client, masked with its own key (section 5.3).
    static func encode(
        _ opcode: Opcode, payload: some Collection<UInt8>, isCompressed: Bool = false,
        using random: inout some RandomNumberGenerator
    ) -> [UInt8] {
        let count = payload.count
        let key = UInt32.random(in: .min ... .max, using: &random)
        let headSize = 6 + (count > Int(UInt16.max) ? 8 : count > maximumControlPayload ? 2 : 0)
        return [UInt8](unsafeUninitializedCapacity: headSize + count) { buffer, initialized in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes[0] = (isCompressed ? 0xC0 : 0x80) | opcode.rawValue
            if count > Int(UInt16.max) {
                bytes[1] = 0x80 | 127
                bytes.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            } else if count > maximumControlPayload {
                bytes[1] = 0x80 | 126
                bytes.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
            } else {
                bytes[1] = 0x80 | UInt8(count)
            }
            bytes.storeBytes(of: key.bigEndian, toByteOffset: headSize - 4, as: UInt32.self)
            _ = UnsafeMutableRawBufferPointer(rebasing: bytes[headSize...]).initializeMemory(
                as: UInt8.self, from: payload)
            FrameMask.apply(key, to: UnsafeMutableRawBufferPointer(rebasing: bytes[headSize..<headSize + count]))
            initialized = headSize + count
        }
    }
}
