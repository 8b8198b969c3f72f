import Foundation
import FoundationXML

/// Reads untrusted documents with Foundation's parser.
///
/// It refuses a document with a `DOCTYPE` before parsing, so there are only XML's five entities and character
/// references, and nothing to fetch. Another encoding cannot hide one, since only UTF-8 is read. It also refuses
/// processing instructions: one without content makes Foundation's parser (6.3) read from a null pointer. No answer of
/// the protocol has either.
package enum XMLReader {
    /// The reason why a document was not read.
    package enum Failure: Error, Hashable, Sendable {
        case tooLarge
        /// The document has a document type, a processing instruction, or an encoding other than UTF-8.
        case refused
        /// The text is not a document, or is incomplete.
        case malformed
    }

    package static func read(_ bytes: [UInt8], limits: XMLLimits = XMLLimits()) throws(Failure) -> XMLNode {
        guard bytes.count <= limits.bytes else { throw .tooLarge }
        guard !bytes.isEmpty else { throw .malformed }
        guard !hasInstructions(bytes), isUTF8(bytes) else { throw .refused }
        let builder = TreeBuilder(limits)
        let parser = XMLParser(data: Data(bytes))
        parser.shouldResolveExternalEntities = false
        parser.delegate = builder
        let isComplete = parser.parse()
        if builder.isTooLarge { throw .tooLarge }
        guard isComplete, parser.parserError == nil, let root = builder.root else { throw .malformed }
        return root
    }

    /// Returns whether there is a processing instruction anywhere: in text it would be escaped. Ignores the declaration
    /// at the start, which looks like one.
    private static func hasInstructions(_ bytes: [UInt8]) -> Bool {
        let word = Array("!doctype".utf8)
        let body = bytes.starts(with: Array("<?xml ".utf8)) ? bytes.dropFirst() : bytes[...]
        var rest = body
        while let found = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(found + 1)...]
            if rest.first == UInt8(ascii: "?") { return true }
            if rest.prefix(word.count).elementsEqual(word, by: { $0 | 0x20 == $1 | 0x20 }) { return true }
        }
        return false
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { return false }
        guard bytes.prefix(8).contains(UInt8(ascii: "?")) else { return true }
        // libxml2 reads the declaration to its end, at any distance.
        let end = bytes.firstIndex(of: UInt8(ascii: ">")) ?? bytes.endIndex
        let declaration = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
        guard let name = declaration.range(of: "encoding") else { return true }
        let value = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }.dropFirst()
        return value.hasPrefix("utf-8") || value.hasPrefix("utf8") || value.hasPrefix("us-ascii")
    }
}

private final class TreeBuilder: NSObject, XMLParserDelegate {
    private(set) var root: XMLNode?
    private(set) var isTooLarge = false
    private var open: [XMLNode] = []
    private var left: Int
    private let maximumDepth: Int

    // The growth of a process, measured with a million elements; an attribute is a dictionary entry with two strings.
    private static let elementCost = 400
    private static let attributeCost = 100

    init(_ limits: XMLLimits) {
        left = limits.memory
        maximumDepth = limits.depth
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        spend(Self.elementCost + name.utf8.count, parser)
        for (name, value) in attributes {
            spend(Self.attributeCost + name.utf8.count + value.utf8.count, parser)
        }
        if open.count >= maximumDepth { abort(parser) }
        guard !isTooLarge else { return }
        open.append(XMLNode(name, attributes: attributes))
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard let node = open.popLast() else { return }
        if open.isEmpty {
            root = node
        } else {
            open[open.count - 1].children.append(node)
        }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        guard !open.isEmpty else { return }
        spend(text.utf8.count, parser)
        open[open.count - 1].text += text
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        guard !open.isEmpty else { return }
        spend(block.count, parser)
        open[open.count - 1].text += String(decoding: block, as: UTF8.self)
    }

    private func spend(_ cost: Int, _ parser: XMLParser) {
        left -= cost
        if left < 0 { abort(parser) }
    }

    private func abort(_ parser: XMLParser) {
        isTooLarge = true
        parser.abortParsing()
    }
}
