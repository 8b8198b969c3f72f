import Foundation

/// The target to which webhooks are posted.
struct WebhookTarget: Hashable {
    let host: String
    let port: Int
    let isSecure: Bool
    /// The path and query.
    let requestTarget: String

    /// Returns `nil` unless it is an absolute URL of http or https.
    init?(_ url: String) {
        guard let components = URLComponents(string: url), let scheme = components.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = components.host, !host.isEmpty
        else { return nil }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        isSecure = scheme == "https"
        port = components.port ?? (isSecure ? 443 : 80)
        let path = components.percentEncodedPath
        requestTarget = (path.isEmpty ? "/" : path) + (components.percentEncodedQuery.map { "?\($0)" } ?? "")
    }
}
