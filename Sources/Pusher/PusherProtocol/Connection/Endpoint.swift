import Transport

/// The server's address and the resulting URL (Pusher protocol, "Making connections").
package struct Endpoint: Hashable, Sendable {
    package static let protocolVersion = 7

    package var host: String
    /// The server's port; `nil` means 443 with TLS and 80 without.
    package var port: Int?
    /// The prefix before `/app`; empty, or with a leading slash.
    package var path: String
    package var key: String
    package var usesTLS: Bool
    package var clientName: String
    package var clientVersion: String

    package init(
        host: String, port: Int? = nil, path: String = "", key: String, usesTLS: Bool = true,
        clientName: String = "pusher-swift-linux", clientVersion: String
    ) {
        self.host = host
        self.port = port
        self.path = path
        self.key = key
        self.usesTLS = usesTLS
        self.clientName = clientName
        self.clientVersion = clientVersion
    }

    /// `host:port`
    package var server: String {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(host):\(port ?? (usesTLS ? 443 : 80))"
    }

    /// `ws[s]://host:port/path/app/key?protocol=7&client=…&version=…`
    package var url: String {
        let prefix = path.split(separator: "/").map { "/" + $0 }.joined()
        return "\(usesTLS ? "wss" : "ws")://\(server)\(prefix)/app/\(key.percentEncoded)"
            + "?protocol=\(Self.protocolVersion)&client=\(clientName.percentEncoded)&version=\(clientVersion)"
    }
}
