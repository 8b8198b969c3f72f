/// Little-endian numbers of seven bits per byte.
package enum Varint {
    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var value = value
        while value > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    /// - Parameter position: The start of the number; set to its end.
    package static func read(_ bytes: ArraySlice<UInt8>, at position: inout Int) throws(EncryptionError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard position < bytes.endIndex else { throw .varint }
            let byte = UInt64(bytes[position])
            position += 1
            guard shift < 63 || byte < 2 else { throw .varint }  // more than 64 bits
            value |= (byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .varint
    }
}

/// The fields of an Olm or Megolm message. Each is a tag, followed by a number or by a length and bytes.
///
/// Fields with unknown tags are skipped. If a field is repeated, the last one is used.
struct MessageFields {
    private var numbers: [UInt64: UInt64] = [:]
    private var texts: [UInt64: ArraySlice<UInt8>] = [:]

    /// - Parameter known: The known tags. A known field with the wrong type is refused.
    init(_ bytes: ArraySlice<UInt8>, known: Set<UInt64>) throws(EncryptionError) {
        var position = bytes.startIndex
        while position < bytes.endIndex {
            let tag = try Varint.read(bytes, at: &position)
            guard tag >> 3 != 0, known.contains(tag) || !known.contains(where: { $0 >> 3 == tag >> 3 }) else {
                throw .wireType
            }
            switch tag & 7 {
            case 0: numbers[tag] = try Varint.read(bytes, at: &position)
            case 2:
                let length = try Varint.read(bytes, at: &position)
                guard length <= UInt64(bytes.endIndex - position) else { throw .length }
                texts[tag] = bytes[position..<position + Int(length)]
                position += Int(length)
            default: throw .wireType
            }
        }
        // Drop unused fields.
        numbers = numbers.filter { known.contains($0.key) }
        texts = texts.filter { known.contains($0.key) }
    }

    /// Returns a number; 0 if it is absent.
    func number(_ tag: UInt64) -> UInt64 { numbers[tag] ?? 0 }

    func bytes(_ tag: UInt64) throws(EncryptionError) -> ArraySlice<UInt8> {
        guard let bytes = texts[tag] else { throw .missingField }
        return bytes
    }

    func key(_ tag: UInt64) throws(EncryptionError) -> Curve25519PublicKey {
        let bytes = try bytes(tag)
        guard bytes.count == 32 else { throw .fieldLength }
        // X25519 ignores the highest bit (RFC 7748, 5), and nobody sets it. With it, an already decrypted message would
        // open another session with the same fallback key.
        guard bytes.last.map({ $0 < 0x80 }) == true else { throw .keyEncoding }
        return try Curve25519PublicKey(bytes)
    }
}
