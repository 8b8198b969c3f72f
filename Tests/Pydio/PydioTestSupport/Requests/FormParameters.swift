/// Parameters of a query or a form, decoded as PHP does; repeated ones keep their order.
package struct FormParameters: Sendable {
    package private(set) var pairs: [(name: String, value: String)] = []

    package init() {}

    init(_ encoded: some StringProtocol) {
        for parameter in encoded.split(separator: "&") {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            append(pair[0].urlDecoded, pair.count > 1 ? pair[1].urlDecoded : "")
        }
    }

    mutating func append(_ name: String, _ value: String) { pairs.append((name, value)) }

    /// The last value with the name.
    package subscript(name: String) -> String? { pairs.last { $0.name == name }?.value }

    /// Whether `file` or `file_0` is among them.
    var hasFiles: Bool { pairs.contains { $0.name == "file" || $0.name == "file_0" } }

    /// Values of an array: `name[]=…`, or with numbers in the brackets.
    package func array(_ name: String) -> [String] {
        pairs.filter { $0.name.hasPrefix(name + "[") && $0.name.hasSuffix("]") }.map(\.value)
    }

    /// Merges the parameters; those of `other` take precedence.
    func merged(with other: FormParameters) -> FormParameters {
        var result = self
        result.pairs += other.pairs
        return result
    }

    /// The parameters with long values shortened.
    var abridged: FormParameters {
        var result = self
        for index in result.pairs.indices where result.pairs[index].value.utf8.count > 65_536 {
            result.pairs[index].value = String(result.pairs[index].value.prefix(65_536))
        }
        return result
    }
}

extension StringProtocol {
    /// The text with `%XX` and `+` decoded; invalid escapes stay.
    var urlDecoded: String {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
