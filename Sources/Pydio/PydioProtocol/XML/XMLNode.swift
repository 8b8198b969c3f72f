/// An element of a small document, with everything in it.
package struct XMLNode: Hashable, Sendable {
    package var name: String
    package var attributes: [String: String]
    package var children: [XMLNode]
    /// Its own text, without that of the elements in it.
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

    /// The first child of this name.
    package func child(_ name: String) -> XMLNode? { children.first { $0.name == name } }

    /// The children of this name.
    package func children(_ name: String) -> [XMLNode] { children.filter { $0.name == name } }

    /// As a document again, on one line: attributes in the order of their names, text before elements.
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
            case "\n", "\r", "\t": result += "&#\(scalar.value);"  // a reader makes spaces of them in attributes
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
