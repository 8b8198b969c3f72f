import Foundation

/// The address of a server, without credentials: those in a URL go into the options.
struct NATSServerAddress: Hashable, Sendable {
    let host: String
    let port: Int
    let isTLS: Bool

    /// - Returns: The address and the credentials in the URL, if any.
    static func parse(_ url: String) throws(NATSError) -> (Self, NATSCredentials?) {
        let text = url.contains("://") ? url : "nats://" + url
        // The URL may contain a password, so no error repeats it.
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "nats" || scheme == "tls", let host = parts.host, !host.isEmpty,
            parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.fragment == nil
        else {
            throw NATSError(
                .invalidArgument, "the URL of a NATS server must look like nats://host:4222 or tls://host:4222")
        }
        let port = parts.port ?? 4222
        guard (1...65535).contains(port) else {
            throw NATSError(.invalidArgument, "the URL of a NATS server has no valid port")
        }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let credentials: NATSCredentials? =
            switch (parts.user, parts.password) {
            case (let user?, let password?): .user(user, password: password)
            case (let token?, nil): .token(token)
            case (nil, _): nil
            }
        return (Self(host: bare, port: port, isTLS: scheme == "tls"), credentials)
    }

    var url: String { "\(isTLS ? "tls" : "nats")://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Whether data sent there stays on this machine.
    var isLoopback: Bool {
        let name = host.lowercased()
        if name == "localhost" || name == "::1" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.first == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Whether it is a name that a certificate can contain, not an address.
    var isName: Bool {
        !host.contains(":")
            && !host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { UInt8($0) != nil }
    }
}
