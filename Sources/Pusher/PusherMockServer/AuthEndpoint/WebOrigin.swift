/// The origin of a page, as browsers write it: `https://app.example` or `http://localhost:3000`.
///
/// Fetch standard, "`Origin` header"; RFC 6454, section 6.2. The opaque origin `null` is none of these.
package struct WebOrigin: Hashable, Sendable {
    package static let form = "scheme://host or scheme://host:port"

    /// The origin in lower case, without the scheme's default port.
    package let text: String

    /// Returns `nil` if the text is not `scheme://host[:port]`.
    package init?(_ text: String) {
        // The longest host name has 253 characters.
        guard text.utf8.count <= 300, text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return nil }
        let pattern = #/([a-z][a-z0-9+.\-]*):\/\/([a-z0-9._\-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/#
        guard let match = text.lowercased().wholeMatch(of: pattern) else { return nil }
        let (scheme, host) = (match.output.1, match.output.2)
        var port = ""
        if let digits = match.output.3 {
            guard let number = UInt16(digits), number > 0 else { return nil }
            let isUsual = (scheme == "http" && number == 80) || (scheme == "https" && number == 443)
            port = isUsual ? "" : ":\(number)"
        }
        self.text = "\(scheme)://\(host)\(port)"
    }
}
