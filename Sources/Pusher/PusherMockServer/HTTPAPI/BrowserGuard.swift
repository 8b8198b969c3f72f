/// Prevents web pages from using a server that trusts everyone who can reach it.
///
/// A browser runs pages of strangers on the machine of a user who can reach the server. Two header fields reveal such a
/// page: `Origin`, which names the page's origin, and `Host`. The latter also works if the page's own name suddenly
/// resolves to this server's address (“DNS rebinding”), so that the browser considers both the same origin.
package struct BrowserGuard: Sendable {
    private let hosts: Set<String>
    private let admitsEveryHost: Bool
    private let origins: Set<String>
    private let admitsEveryOrigin: Bool

    /// - Parameters:
    ///   - host: The name or address that the server listens on.
    ///   - allowedHosts: Additional names; `*` allows every name.
    ///   - allowedOrigins: Origins in the form of ``WebOrigin``; `*` allows every origin.
    package init(host: String, allowedHosts: [String] = [], allowedOrigins: [String] = []) {
        hosts = Set(([host] + allowedHosts).compactMap { HostField($0)?.name })
        admitsEveryHost = allowedHosts.contains("*")
        origins = Set(allowedOrigins.compactMap { WebOrigin($0)?.text })
        admitsEveryOrigin = allowedOrigins.contains("*")
    }

    /// Returns whether a text is a name or an address, without a port.
    package static func isHost(_ text: String) -> Bool {
        guard let host = HostField(text) else { return false }
        return !host.name.isEmpty && !text.hasSuffix(":") && host.port == nil
    }

    /// Returns the reason why a request with these fields is refused, for people; `nil` if it is admitted.
    package func refusal(host: String?, origin: String?) -> String? {
        guard let host = host.flatMap(HostField.init), admits(host) else {
            return "The host that the request names is not one of this server's (allowedHosts)"
        }
        guard let origin else { return nil }  // not a browser, or not a page
        return admits(origin: origin, at: host)
            ? nil : "Pages of the origin that the request comes from may not use this server (allowedOrigins)"
    }

    private func admits(_ host: HostField) -> Bool {
        // An address is not a name that DNS could point elsewhere.
        admitsEveryHost || host.isAddress || host.name == "localhost" || host.name.hasSuffix(".localhost")
            || hosts.contains(host.name)
    }

    private func admits(origin: String, at host: HostField) -> Bool {
        if admitsEveryOrigin || origins.contains(origin) { return true }
        // The server's own page. Behind a proxy it may have either scheme.
        guard let start = origin.firstRange(of: "://"), ["http", "https"].contains(origin[..<start.lowerBound]) else {
            return false
        }
        return HostField(String(origin[start.upperBound...])) == host
    }
}
