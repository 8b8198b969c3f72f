import Basics
package import JSONBytes

/// The canonical form of a JSON value for signing and hashing: UTF-8, no white space, keys sorted by code point, as few
/// escapes as JSON allows, and whole numbers only.
///
/// If a key is repeated, the last value is used, as in ``JSONView`` and most servers: what is verified is what is read.
package enum CanonicalJSON {
    /// The maximum nesting depth of objects and arrays. Signed objects have four.
    package static let maximumDepth = 64

    /// - Parameter excluded: Keys to omit from the outermost object.
    /// - Throws: `notJSON`; `depth`; `float` for numbers with a fraction or an exponent, whatever their value; `integerRange`
    ///   for numbers beyond ±(2⁵³ − 1).
    package static func bytes(of value: JSONView, without excluded: String...) throws(EncryptionError) -> [UInt8] {
        // A view validates only the parts that are accessed.
        guard JSONView.isJSON(Array(value.bytes[value.range])) else { throw .notJSON }
        var bytes: [UInt8] = []
        try append(value, to: &bytes, without: excluded, depth: 0)
        return bytes
    }

    private static func append(
        _ value: JSONView, to bytes: inout [UInt8], without excluded: [String] = [], depth: Int
    ) throws(EncryptionError) {
        switch value.bytes[value.range.lowerBound] {
        case UInt8(ascii: "{"):
            guard depth < maximumDepth else { throw .depth }
            let members = value.canonicalMembers.filter { member in
                !excluded.contains { $0.isExactly(member.key) }
            }
            var separator = UInt8(ascii: "{")
            for (key, value) in members {
                bytes.append(separator)
                JSONString.append(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                try append(value, to: &bytes, depth: depth + 1)
                separator = UInt8(ascii: ",")
            }
            bytes += members.isEmpty ? "{}".utf8 : "}".utf8
        case UInt8(ascii: "["):
            guard depth < maximumDepth, let elements = value.array else { throw .depth }
            var separator = UInt8(ascii: "[")
            for element in elements {
                bytes.append(separator)
                try append(element, to: &bytes, depth: depth + 1)
                separator = UInt8(ascii: ",")
            }
            bytes += elements.isEmpty ? "[]".utf8 : "]".utf8
        case UInt8(ascii: "\""):
            guard let text = value.string else { throw .notJSON }
            JSONString.append(text, to: &bytes)
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
            bytes += value.bytes[value.range]
        default:
            try bytes += number(value).utf8
        }
    }

    private static func number(_ value: JSONView) throws(EncryptionError) -> String {
        let text = String(decoding: value.bytes[value.range], as: UTF8.self)
        guard !text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }) else { throw .float }
        guard let number = Int(text), number.magnitude < 1 << 53 else { throw .integerRange }
        return String(number)  // turns -0 into 0
    }
}

extension JSONView {
    /// The members of an object, ordered by the code points of their keys; of repeated keys only the last.
    var canonicalMembers: [(key: String, value: JSONView)] {
        // UTF-8 bytes sort like code points; String does not.
        let sorted = members.sorted { $0.key.precedesExactly($1.key) }
        var members: [(key: String, value: JSONView)] = []
        for member in sorted {
            if let last = members.last, last.key.isExactly(member.key) { members.removeLast() }
            members.append(member)
        }
        return members
    }
}
