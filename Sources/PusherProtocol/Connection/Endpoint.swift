/// Where the server is, and the URL that follows from it (Pusher protocol, "Making connections").
package struct Endpoint: Hashable, Sendable {
    package static let protocolVersion = 7

    package var host: String
    /// Nil: 443 with TLS, 80 without.
    package var port: Int?
    /// Prefix before `/app`; empty, or with a leading slash.
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

    /// `ws[s]://host:port/path/app/key?protocol=7&client=…&version=…`
    package var url: String {
        let host = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = port ?? (usesTLS ? 443 : 80)
        let prefix = path.split(separator: "/").map { "/" + $0 }.joined()
        return "\(usesTLS ? "wss" : "ws")://\(host):\(port)\(prefix)/app/\(key.percentEncoded)"
            + "?protocol=\(Self.protocolVersion)&client=\(clientName.percentEncoded)&version=\(clientVersion)"
    }
}

extension String {
    /// Everything but the unreserved characters of RFC 3986 escaped, so that it is safe in a path segment, a query
    /// and a form.
    package var percentEncoded: String {
        let hexadecimal = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
