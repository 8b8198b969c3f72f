import Foundation
import Transport

/// A server as people write it: `127.0.0.1:6001`, `[::1]:6001`, `example.org`, or a URL with http, https, ws or wss.
package struct HostAddress: Equatable, Sendable {
    package var host: String
    package var port: Int?
    /// Whether the URL's scheme uses TLS; `nil` if there is none.
    package var usesTLS: Bool?
    /// The prefix before the paths of the API; `nil` if there is none.
    package var path: String?

    /// The part that is invalid, as the end of a sentence that begins with the option's name.
    package struct Mistake: Error {
        package let words: String

        package init(words: String) { self.words = words }
    }

    private static let forms = "it takes a host, HOST:PORT or a URL such as https://example.org"

    package init(_ text: String) throws(Mistake) {
        guard !text.isEmpty else { throw Mistake(words: "is empty: \(Self.forms)") }
        if text.contains("://") {
            try self.init(url: text)
        } else {
            try self.init(hostAndPort: text)
        }
        guard Self.isHost(host) else { throw Mistake(words: "“\(host)” is not a host: \(Self.forms)") }
        if let port, !(1...65535).contains(port) {
            throw Mistake(words: "\(text): the port must be from 1 to 65535")
        }
    }

    private init(url text: String) throws(Mistake) {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty else {
            throw Mistake(words: "“\(text)” is not a URL: \(Self.forms)")
        }
        guard url.user == nil, url.password == nil else {
            throw Mistake(words: "must not hold a name or a password; PUSHER_URL may")
        }
        guard url.query == nil, url.fragment == nil else {
            throw Mistake(words: "“\(text)” has a query or a fragment: \(Self.forms)")
        }
        switch url.scheme?.lowercased() {
        case "http", "ws": usesTLS = false
        case "https", "wss": usesTLS = true
        case .some, nil: throw Mistake(words: "“\(text)” is not an http, https, ws or wss URL")
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = url.port
        path = ["", "/"].contains(url.path) ? nil : url.percentEncodedPath
        if let path, !Self.isPath(path) { throw Mistake(words: "“\(text)” has a path with . or ..") }
    }

    private init(hostAndPort text: String) throws(Mistake) {
        var rest = text[...]
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = String(text[text.index(after: text.startIndex)..<end])
            rest = text[text.index(after: end)...]
        } else if text.count(where: { $0 == ":" }) > 1 {
            (host, rest) = (text, "")  // an IPv6 address without brackets
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            (host, rest) = (String(text[..<end]), text[end...])
        }
        guard !rest.isEmpty else { return }
        guard rest.first == ":", let port = Int(rest.dropFirst()) else {
            throw Mistake(words: "\(text): “\(rest.first == ":" ? rest.dropFirst() : rest)” is not a port")
        }
        self.port = port
    }

    /// Returns whether this is a valid path of a URL that can be requested unchanged.
    package static func isPath(_ path: String) -> Bool {
        path.wholeMatch(of: #/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@\/]|%[0-9A-Fa-f]{2})*/#) != nil
            && !PathSegment.hasDots(path: path)
    }

    /// Returns whether the text can be a host. Leaves names to the resolver, but refuses text that would change a URL
    /// or is not allowed in one.
    private static func isHost(_ host: String) -> Bool {
        // The zone of an IPv6 address, such as fe80::1%eth0
        let address = host.contains(":") ? host.prefix { $0 != "%" } : host[...]
        let zone = host.dropFirst(address.count)
        return !address.isEmpty && (zone.isEmpty || zone.wholeMatch(of: /%[A-Za-z0-9._~-]+/) != nil)
            && address.unicodeScalars.allSatisfy { scalar in
                !scalar.properties.isWhitespace && !"/?#@[]\\<>\"{}|^`%".unicodeScalars.contains(scalar)
                    && scalar.properties.generalCategory != .control
            }
            && URLComponents(string: "http://\(name(host, nil))/")?.encodedHost?.isEmpty == false
    }
}

extension HostAddress {
    /// `127.0.0.1:6001`, `[::1]:6001`
    package static func name(_ host: String, _ port: Int?) -> String {
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return name + (port.map { ":\($0)" } ?? "")
    }
}
