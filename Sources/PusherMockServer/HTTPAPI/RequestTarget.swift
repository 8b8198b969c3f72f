import Foundation

/// The path and query of a request line.
struct RequestTarget: Hashable {
    struct Parameter: Hashable {
        let name: String
        let value: String
    }

    /// As received, still escaped: it is what signatures cover.
    let path: String
    /// Unescaped, in the order received.
    let query: [Parameter]

    init(_ target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        query = parts.count == 2 ? Self.parameters(of: parts[1]) : []
    }

    init(path: String, query: [Parameter]) {
        self.path = path
        self.query = query
    }

    func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The parameters of a query or of an `application/x-www-form-urlencoded` body.
    static func parameters(of text: some StringProtocol) -> [Parameter] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let unescaped = parts.map {
                let text = $0.replacing("+", with: " ")
                return String(text).removingPercentEscapes ?? String(text)
            }
            return Parameter(name: unescaped[0], value: unescaped.count == 2 ? unescaped[1] : "")
        }
    }
}

extension String {
    /// Nil if an escape is malformed or the result is not UTF-8.
    var removingPercentEscapes: String? { removingPercentEncoding }
}
