import CVector

/// Validates UTF-8 that arrives in pieces (RFC 3629), and fails as soon as it cannot become valid.
package struct UTF8Validator: Sendable {
    private var missing = 0
    /// The bounds of the next continuation byte, which exclude overlong forms, surrogates and values above U+10FFFF.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    package static func isValid(_ bytes: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        return bytes.withUnsafeBytes { validator.accepts($0) } && validator.isComplete
    }

    /// Whether the text ends at a character boundary.
    var isComplete: Bool { missing == 0 }

    mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0, bytes[index] < 0x80 {
                index += Int(ascii_prefix(bytes.baseAddress.unsafelyUnwrapped + index, UInt64(bytes.count - index)))
                guard index < bytes.count else { return true }
            }
            guard acceptsNext(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    private mutating func acceptsNext(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard byte >= lower, byte <= upper else { return false }
            missing -= 1
            (lower, upper) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lower) = (2, 0xA0)
        case 0xED: (missing, upper) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lower) = (3, 0x90)
        case 0xF4: (missing, upper) = (3, 0x8F)
        case 0xF1...0xF3: missing = 3
        default: return false
        }
        return true
    }
}
