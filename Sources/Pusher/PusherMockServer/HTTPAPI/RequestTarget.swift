import Foundation

/// The path and query of a request line.
struct RequestTarget: Hashable {
    struct Parameter: Hashable {
        let name: String
        let value: String
    }

    /// The path as received, still escaped: signatures cover it in this form.
    let path: String
    /// The query parameters, unescaped, in the order received.
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

    /// Returns the parameters of a query or of an `application/x-www-form-urlencoded` body.
    static func parameters(of text: some StringProtocol) -> [Parameter] {
        var rest = Array(text.utf8)[...]
        var parameters: [Parameter] = []
        while !rest.isEmpty {
            let end = rest.quickIndex(of: UInt8(ascii: "&")) ?? rest.endIndex
            let pair = rest[..<end]
            rest = rest[end...].dropFirst()
            guard !pair.isEmpty else { continue }
            let nameEnd = pair.quickIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            parameters.append(
                Parameter(name: unescaped(pair[..<nameEnd]), value: unescaped(pair[nameEnd...].dropFirst())))
        }
        return parameters
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes
        var position = bytes.startIndex
        while let plus = bytes[position...].quickIndex(of: UInt8(ascii: "+")) {
            bytes[plus] = UInt8(ascii: " ")
            position = plus + 1
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return bytes.quickIndex(of: UInt8(ascii: "%")) == nil ? text : text.removingPercentEscapes ?? text
    }
}

extension String {
    /// The unescaped text; `nil` if an escape is malformed or the result is not UTF-8.
    var removingPercentEscapes: String? { removingPercentEncoding }
}
