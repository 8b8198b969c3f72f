package import Foundation
import Transport

/// Where a server is: the folder of its script.
package struct ServerAddress: Hashable, Sendable {
    /// Absolute, with a slash at its end; nothing else is normalised (section 2.2).
    package let normalized: String
    /// Scheme, host and port, without a slash at its end.
    package let origin: String
    /// The path of the folder as it is in the URL, with slashes at both ends.
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

    /// What a server's settings are kept under.
    package static func normalized(_ url: URL) -> String {
        let text = url.absoluteString
        return text.hasSuffix("/") ? text : text + "/"
    }

    /// The server for the names of channels: host, port if it is not the usual one, path.
    package var channelName: String {
        let place = origin.drop { $0 != "/" }.dropFirst(2) + path
        return String(place.dropLast())
    }
}
