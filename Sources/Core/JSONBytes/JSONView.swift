/// A JSON value that is kept as the received bytes and parsed on access.
///
/// Each access parses the bytes again, so read each value once. A value of another type than requested is nil, whatever
/// the peer sent.
public struct JSONView: Sendable {
    /// The underlying bytes, which may contain other values too.
    package let bytes: [UInt8]
    private let start: UInt32
    private let end: UInt32

    package var range: Range<Int> { Int(start)..<Int(end) }

    /// - Parameter range: The value's position in `bytes`; below 4 GiB.
    package init(bytes: [UInt8], range: Range<Int>) {
        self.bytes = bytes
        (start, end) = (UInt32(truncatingIfNeeded: range.lowerBound), UInt32(truncatingIfNeeded: range.upperBound))
    }

    /// Creates a value from all of `bytes`. Returns nil unless they contain exactly one value.
    public init?(_ bytes: [UInt8]) {
        self.init(bytes, in: bytes.indices)
    }

    /// Creates a value from a part of `bytes`. Returns nil unless it contains exactly one value.
    package init?(_ bytes: [UInt8], in part: Range<Int>) {
        guard bytes.count < Int(UInt32.max) else { return nil }
        let range = bytes.withUnsafeBufferPointer { buffer -> Range<Int>? in
            guard var cursor = JSONCursor(UnsafeBufferPointer(rebasing: buffer[part])),
                let range = try? cursor.skipValue(), cursor.peek() == nil
            else { return nil }
            return range
        }
        guard let range else { return nil }
        self.init(bytes: bytes, range: part.lowerBound + range.lowerBound..<part.lowerBound + range.upperBound)
    }

    /// The value with a copy of its bytes, so that it doesn't keep its neighbours in memory.
    package var detached: JSONView {
        let own = Array(bytes[range])
        return JSONView(bytes: own, range: own.indices)
    }

    /// Returns whether the whole text is one valid JSON value.
    package static func isJSON(_ text: String) -> Bool { isJSON(Array(text.utf8)) }

    package static func isJSON(_ bytes: [UInt8]) -> Bool {
        JSONDocument(capacity: bytes.count, options: JSONBytesDecoder()) { $0.update(fromContentsOf: bytes) } != nil
    }

    /// A value that does not exist and has no type.
    package static let nothing = JSONView(bytes: [], range: 0..<0)

    /// The JSON text without insignificant white space.
    package var compactText: String {
        inside { bytes in
            guard bytes.contains(where: { $0 <= 0x20 }) else { return String(decoding: bytes, as: UTF8.self) }
            var isInString = false
            var isEscaped = false
            let compact = bytes.filter { byte in
                defer {
                    if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
                    isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                }
                return isInString || byte > 0x20
            }
            return String(decoding: compact, as: UTF8.self)
        }
    }

    // MARK: Scalars

    /// The text, if this is a string.
    public var string: String? {
        inside { bytes in
            guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
                return nil
            }
            return JSONString.text(UnsafeBufferPointer(rebasing: bytes[1..<bytes.count - 1]))
        }
    }

    /// The whole number, if this is one. Numbers with a fraction or an exponent count if their value is whole.
    public var int: Int? {
        inside { bytes in
            guard let (end, isWhole) = NumberText.scan(bytes, from: 0), end == bytes.count else { return nil }
            return (isWhole ? NumberText.wholeNumber(bytes) : nil) ?? NumberText.integer(bytes)
        }
    }

    /// The number without its fraction, such as a time; nil if this is not a number or does not fit.
    package var wholePart: Int? {
        int ?? double.flatMap { $0.magnitude < 0x1p53 ? Int($0) : nil }
    }

    /// The number, if this is one; nil if it is too large or too small for a Double.
    public var double: Double? {
        inside { bytes in
            NumberText.scan(bytes, from: 0)?.end == bytes.count ? NumberText.double(bytes) : nil
        }
    }

    /// The Boolean, if this is `true` or `false`.
    public var bool: Bool? {
        inside { bytes in
            bytes.elementsEqual("true".utf8) ? true : bytes.elementsEqual("false".utf8) ? false : nil
        }
    }

    /// Whether it is `null`.
    public var isNull: Bool { inside { $0.elementsEqual("null".utf8) } }

    /// Whether it is an object.
    public var isObject: Bool { inside { $0.first == UInt8(ascii: "{") } }

    package var isArray: Bool { inside { $0.first == UInt8(ascii: "[") } }

    // MARK: Objects and arrays

    /// The value of a key; nil if this is not an object or lacks the key. Of equal keys the last counts.
    public subscript(key: String) -> JSONView? {
        var key = key
        let found = key.withUTF8 { key in inside { range(of: key, in: $0) } }
        return found.map { JSONView(bytes: bytes, range: $0) }
    }

    /// The element at a position; nil if this is not an array or has fewer elements.
    public subscript(position: Int) -> JSONView? {
        guard position >= 0 else { return nil }
        return inside { buffer in
            guard var cursor = JSONCursor(buffer), cursor.take(UInt8(ascii: "[")) else { return nil }
            for passed in 0...position {
                guard let range = try? cursor.skipValue() else { return nil }
                if passed == position { return JSONView(bytes: bytes, range: shifted(range)) }
                guard cursor.take(UInt8(ascii: ",")) else { return nil }
            }
            return nil
        }
    }

    /// The elements; nil if this is not an array.
    public var array: [JSONView]? {
        var elements: [JSONView] = []
        return forEachElement { elements.append($0) } ? elements : nil
    }

    /// Calls `body` with each element of an array. Returns false if this is not a valid array, perhaps after some
    /// elements.
    package func forEachElement(_ body: (JSONView) -> Void) -> Bool {
        inside { buffer in
            guard var cursor = JSONCursor(buffer) else { return false }
            do throws(JSONCursor.Malformed) {
                try cursor.array { cursor throws(JSONCursor.Malformed) in
                    body(JSONView(bytes: bytes, range: shifted(try cursor.skipValue())))
                }
                return true
            } catch {
                return false
            }
        }
    }

    /// The members of an object, in the order of the text; empty if this is not an object.
    public var members: [(key: String, value: JSONView)] {
        var members: [(String, JSONView)] = []
        forEachMember { members.append(($0, JSONView(bytes: bytes, range: $1))) }
        return members
    }

    private func range(of wanted: UnsafeBufferPointer<UInt8>, in buffer: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        guard var cursor = JSONCursor(buffer) else { return nil }
        var found: Range<Int>?
        try? cursor.object { cursor, key throws(JSONCursor.Malformed) in
            let value = try cursor.skipValue()
            let name = UnsafeBufferPointer(rebasing: buffer[key.range])
            let isWanted =
                key.hasEscapes
                ? JSONString.text(name)?.utf8.elementsEqual(wanted) ?? false
                : name.count == wanted.count && name.elementsEqual(wanted)
            if isWanted { found = value }
        }
        return found.map(shifted)
    }

    /// Calls `body` with each key of an object and the position of its value in ``bytes``.
    package func forEachMember(_ body: (String, Range<Int>) -> Void) {
        inside { buffer in
            guard var cursor = JSONCursor(buffer) else { return }
            try? cursor.object { cursor, key throws(JSONCursor.Malformed) in
                let value = shifted(try cursor.skipValue())
                if let name = JSONString.text(UnsafeBufferPointer(rebasing: buffer[key.range])) { body(name, value) }
            }
        }
    }

    private func shifted(_ range: Range<Int>) -> Range<Int> {
        range.lowerBound + Int(start)..<range.upperBound + Int(start)
    }

    private func inside<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }
}

extension JSONView: Equatable {
    /// Compares bytes: two spellings of one value differ.
    public static func == (lhs: JSONView, rhs: JSONView) -> Bool {
        lhs.bytes[lhs.range] == rhs.bytes[rhs.range]
    }
}
