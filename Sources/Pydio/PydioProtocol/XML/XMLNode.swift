/// An element of a small document, with everything in it.
package struct XMLNode: Hashable, Sendable {
    package var name: String
    package var attributes: [String: String]
    package var children: [XMLNode]
    /// Its own text, without that of its children.
    package var text: String

    package init(
        _ name: String, attributes: [String: String] = [:], children: [XMLNode] = [], text: String = ""
    ) {
        self.name = name
        self.attributes = attributes
        self.children = children
        self.text = text
    }

    package subscript(attribute: String) -> String? { attributes[attribute] }

    package func child(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    package func children(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

    /// The element as a document on one line: attributes sorted by name, text before elements.
    package var serialised: String {
        var result = ""
        write(to: &result)
        return result
    }

    private func write(to result: inout String) {
        result += "<" + name
        for (key, value) in attributes.sorted(by: { $0.key < $1.key }) {
            result += " \(key)=\"\(Self.escaped(value))\""
        }
        guard !children.isEmpty || !text.isEmpty else { return result += "/>" }
        result += ">" + Self.escaped(text)
        for child in children { child.write(to: &result) }
        result += "</\(name)>"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\r", "\t": result += "&#\(scalar.value);"  // parsers convert them to spaces in attributes
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
