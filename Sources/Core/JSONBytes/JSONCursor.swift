import CVector
import Glibc

/// Finds where values begin and end in JSON bytes, without building anything.
///
/// It checks only what it needs to find its way, so it also accepts some text that is not JSON (RFC 8259). Values taken
/// from it are read by ``JSONView``, which validates them itself. Nesting depth costs nothing, since nothing here is
/// recursive.
package struct JSONCursor {
    package struct Malformed: Error {}

    /// The contents of a string, without its quotes.
    package struct Text {
        package let range: Range<Int>
        package let hasEscapes: Bool
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let base: UnsafePointer<UInt8>
    package private(set) var index: Int

    /// Returns nil if there are no bytes at all.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int = 0) {
        guard let base = bytes.baseAddress, index <= bytes.count else { return nil }
        self.bytes = bytes
        self.base = base
        self.index = index
    }

    /// Returns the next byte that is not white space, or nil at the end.
    package mutating func peek() -> UInt8? {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            case let byte: return byte
            }
        }
        return nil
    }

    /// Consumes `byte` if it is the next one.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        index += 1
        return true
    }

    package mutating func expect(_ byte: UInt8) throws(Malformed) {
        guard take(byte) else { throw Malformed() }
    }

    package mutating func string() throws(Malformed) -> Text {
        try expect(UInt8(ascii: "\""))
        let start = index
        var hasEscapes = false
        while index < bytes.count {
            let length = min(bytes.count - index, 64)
            let special = special_bytes(base + index, UInt64(length))
            let firstQuote = special.quotes.trailingZeroBitCount
            let firstBackslash = special.backslashes.trailingZeroBitCount
            if firstBackslash < firstQuote {
                hasEscapes = true
                index += firstBackslash + 2
            } else if firstQuote < 64 {
                index += firstQuote + 1
                return Text(range: start..<index - 1, hasEscapes: hasEscapes)
            } else {
                index += length
            }
        }
        throw Malformed()
    }

    /// Moves to the end of the next value and returns the value's range.
    package mutating func skipValue() throws(Malformed) -> Range<Int> {
        guard let first = peek() else { throw Malformed() }
        let start = index
        switch first {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"), UInt8(ascii: "["): try skipContainer()
        default: try skipScalar()
        }
        return start..<index
    }

    private mutating func skipScalar() throws(Malformed) {
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
                index += 1
            default:
                guard index > start else { throw Malformed() }
                return
            }
        }
        guard index > start else { throw Malformed() }
    }

    /// Skips 64 bytes at a time while the container cannot end in them.
    private mutating func skipContainer() throws(Malformed) {
        var position = json_position_t(in_string: 0, escaped: 0)
        var depth = 0
        while index + 64 <= bytes.count {
            let brackets = json_brackets(base + index, &position)
            if depth > brackets.closing.nonzeroBitCount {
                depth += brackets.opening.nonzeroBitCount - brackets.closing.nonzeroBitCount
            } else if let end = end(of: brackets, depth: &depth) {
                index += end + 1
                return
            }
            index += 64
        }
        try skipTail(position, depth)
    }

    /// Returns the position in a block at which the depth reaches 0.
    private func end(of brackets: json_brackets_t, depth: inout Int) -> Int? {
        var rest = brackets.opening | brackets.closing
        while rest != 0 {
            let bit = rest.trailingZeroBitCount
            depth += brackets.opening >> UInt64(bit) & 1 == 1 ? 1 : -1
            if depth <= 0 { return bit }
            rest &= rest - 1
        }
        return nil
    }

    private mutating func skipTail(_ position: json_position_t, _ depth: Int) throws(Malformed) {
        var (isInString, isEscaped, depth) = (position.in_string != 0, position.escaped != 0, depth)
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString, UInt8(ascii: "[") where !isInString: depth += 1
            case UInt8(ascii: "}") where !isInString, UInt8(ascii: "]") where !isInString:
                depth -= 1
                if depth <= 0 { return }
            default: break
            }
        }
        throw Malformed()
    }

    /// Calls `body` with each key of the next object; `body` must move past the value.
    package mutating func object(
        _ body: (inout JSONCursor, Text) throws(Malformed) -> Void
    ) throws(Malformed) {
        try expect(UInt8(ascii: "{"))
        if take(UInt8(ascii: "}")) { return }
        while true {
            let key = try string()
            try expect(UInt8(ascii: ":"))
            try body(&self, key)
            if take(UInt8(ascii: "}")) { return }
            try expect(UInt8(ascii: ","))
        }
    }

    /// Calls `body` before each element of the next array; `body` must move past it.
    package mutating func array(_ body: (inout JSONCursor) throws(Malformed) -> Void) throws(Malformed) {
        try expect(UInt8(ascii: "["))
        if take(UInt8(ascii: "]")) { return }
        while true {
            try body(&self)
            if take(UInt8(ascii: "]")) { return }
            try expect(UInt8(ascii: ","))
        }
    }

    package func isKey(_ key: Text, _ name: StaticString) -> Bool {
        guard !key.hasEscapes else {
            return JSONString.text(UnsafeBufferPointer(rebasing: bytes[key.range])) == "\(name)"
        }
        return key.range.count == name.utf8CodeUnitCount
            && memcmp(base + key.range.lowerBound, name.utf8Start, key.range.count) == 0
    }

    package func contains(_ text: StaticString, in range: Range<Int>) -> Bool {
        memmem(base + range.lowerBound, range.count, text.utf8Start, text.utf8CodeUnitCount) != nil
    }

    /// Returns the number at `range` without its fraction; 0 if it is not a number, is negative, or does not fit.
    package func unsignedNumber(_ range: Range<Int>) -> UInt64 {
        var number: UInt64 = 0
        for byte in bytes[range] {
            guard byte >= 0x30, byte <= 0x39, number < UInt64.max / 100 else {
                return UInt64(max(JSONView(Array(bytes[range]))?.wholePart ?? 0, 0))
            }
            number = number * 10 + UInt64(byte - 0x30)
        }
        return number
    }
}
