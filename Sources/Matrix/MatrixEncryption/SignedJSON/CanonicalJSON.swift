import Basics
package import JSONBytes

/// The one spelling of a JSON value that is signed or hashed: UTF-8, no white space, keys sorted by code point, as few
/// escapes as JSON allows, and whole numbers only.
///
/// Of equal keys the last counts, as it does for ``JSONView`` and for most servers: what is verified is then what is read.
package enum CanonicalJSON {
    /// How many objects and arrays may lie inside each other. Signed objects have four.
    package static let maximumDepth = 64

    /// - Parameter excluded: Keys of the outermost object that are left out.
    /// - Throws: `notJSON`; `depth`; `float` for numbers with a fraction or an exponent, whatever their value; `integerRange`
    ///   for numbers beyond ±(2⁵³ − 1).
    package static func bytes(of value: JSONView, without excluded: String...) throws(EncryptionError) -> [UInt8] {
        // A view checks only what it is asked for.
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
        return String(number)  // of -0 it makes 0
    }
}

extension JSONView {
    /// The members of an object in the order of their keys' code points; of equal keys only the last.
    var canonicalMembers: [(key: String, value: JSONView)] {
        // The order of UTF-8 bytes is that of code points; that of String isn't.
        let sorted = members.sorted { $0.key.precedesExactly($1.key) }
        var members: [(key: String, value: JSONView)] = []
        for member in sorted {
            if let last = members.last, last.key.isExactly(member.key) { members.removeLast() }
            members.append(member)
        }
        return members
    }
}
