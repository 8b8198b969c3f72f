/// An element of an answer.
struct XMLElement: Sendable {
    let name: String
    var attributes: [(name: String, value: String)] = []
    var text = ""
    var children: [XMLElement] = []

    init(
        _ name: String, _ attributes: [(String, String)] = [], text: String = "", _ children: [XMLElement] = []
    ) {
        (self.name, self.attributes, self.text, self.children) = (name, attributes, text, children)
    }

    func attribute(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

    var xml: String {
        var result = ""
        write(to: &result)
        return result
    }

    private func write(to result: inout String) {
        result += "<" + name
        for (name, value) in attributes { result += " \(name)=\"\(value.xmlEscaped)\"" }
        guard !text.isEmpty || !children.isEmpty else {
            result += "/>"
            return
        }
        result += ">" + text.xmlEscaped
        for child in children { child.write(to: &result) }
        result += "</\(name)>"
    }

    /// XML as the newer servers convert it to JSON: attributes have an `@`, text is `$`, repeated elements become
    /// arrays.
    var json: JSONValue {
        var members = attributes.map { ("@" + $0.name, JSONValue.string($0.value)) }
        if !text.isEmpty { members.append(("$", .string(text))) }
        var names: [String] = []
        for child in children where !names.contains(child.name) { names.append(child.name) }
        for name in names {
            let values = children.filter { $0.name == name }.map(\.json)
            members.append((name, values.count == 1 ? values[0] : .array(values)))
        }
        return .object(members)
    }
}

extension String {
    /// Escaped text without characters that XML forbids.
    var xmlEscaped: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&apos;"
            case "\t", "\n", "\r": result += "&#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: break
            case _: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
