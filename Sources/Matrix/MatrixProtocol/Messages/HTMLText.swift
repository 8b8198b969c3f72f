/// Converts HTML to plain text.
///
/// The time is proportional to the text's length.
package enum HTMLText {
    /// Returns the text without tags: blocks are on lines of their own, entities are decoded, and spoilers are replaced
    /// by `[spoiler]` or `[spoiler: reason]`.
    package static func plain(_ html: String) -> String {
        var output = ""
        /// The element whose content is hidden, and the number of nested open elements of that name.
        var hidden: (name: String, depth: Int)?
        for token in HTMLScanner(html) {
            switch token {
            case .text(let text): if hidden == nil { output += text }
            case .tag(let tag):
                if let (name, depth) = hidden {
                    guard tag.name == name else { continue }
                    let depth = depth + (tag.isEnd ? -1 : 1)
                    hidden = depth == 0 ? nil : (name, depth)
                    continue
                }
                if blocks.contains(tag.name), !output.isEmpty, output.utf8.last != 0x0A { output += "\n" }
                guard let reason = tag.attributes["data-mx-spoiler"], !tag.isEnd else { continue }
                output += reason.isEmpty ? "[spoiler]" : "[spoiler: \(reason)]"
                hidden = (tag.name, 1)
            }
        }
        while let last = output.utf8.last, last == 0x0A || last == 0x0D { output.unicodeScalars.removeLast() }
        return output
    }

    /// Whether the HTML may contain spoilers.
    static func mayHaveSpoilers(_ html: String) -> Bool { html.lowercased().utf8Range(of: "data-mx-spoiler") != nil }

    private static let blocks: Set = [
        "br", "p", "div", "li", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6",
    ]
}
