package import Foundation
import Transport

/// The address of a server: the folder of its script.
package struct ServerAddress: Hashable, Sendable {
    /// The absolute address with a trailing slash; nothing else is normalized (section 2.2).
    package let normalized: String
    /// The scheme, host and port, without a trailing slash.
    package let origin: String
    /// The path of the folder as in the URL, with slashes at both ends.
    package let path: String
    package let host: String
    package let isSecure: Bool

    package init(_ url: URL) throws(PydioError) {
        let text = url.absoluteString
        guard let components = URLComponents(string: text), let host = components.bracketedHost, !host.isEmpty,
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https"
        else { throw PydioError(.invalidArgument, "the server's address needs http or https and a host") }
        guard components.user == nil, components.password == nil, components.query == nil, components.fragment == nil
        else {
            throw PydioError(
                .invalidArgument, "the server's address must not have a user, a password, a query or a fragment")
        }
        guard !PathSegment.hasDots(path: components.percentEncodedPath) else {
            throw PydioError(
                .invalidArgument,
                "the server's address must not have a segment of dots, which would not arrive as signed")
        }
        normalized = Self.normalized(url)
        self.host = host
        isSecure = scheme == "https"
        origin = "\(scheme)://\(host)" + (components.port.map { ":\($0)" } ?? "")
        let path = components.percentEncodedPath
        self.path = path.hasSuffix("/") ? path : path + "/"
    }

    /// Returns the key of a server's settings.
    package static func normalized(_ url: URL) -> String {
        let text = url.absoluteString
        return text.hasSuffix("/") ? text : text + "/"
    }

    /// The server in the names of channels: host, port if not the default, path.
    package var channelName: String {
        let place = origin.drop { $0 != "/" }.dropFirst(2) + path
        return String(place.dropLast())
    }
}
