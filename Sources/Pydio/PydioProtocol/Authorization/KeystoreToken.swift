import Basics
import Foundation
package import Transport

/// A key pair that replaces a user's password at a server with the REST interface (section 11.1).
///
/// Anyone with the key pair can do everything the user can. It is valid until the password changes, or another pair is
/// created for its device.
public struct KeystoreToken: Sendable, Hashable, Codable {
    /// The token, `t` on the wire.
    public let token: String
    /// The key, `p` on the wire.
    public let key: String

    /// Creates an instance with the given properties.
    public init(token: String, key: String) {
        (self.token, self.key) = (token, key)
    }

    /// Returns the value of `auth_hash`.
    ///
    /// - Parameters:
    ///   - path: The path of the request's URL.
    ///   - nonce: Any text without a colon.
    package func hash(path: String, nonce: String) -> String {
        var uri = Self.canonical(path: path)
        if uri.count > 1, uri.hasSuffix("/") { uri.removeLast() }
        let message = Array("\(uri):\(nonce):\(key)".utf8)
        return nonce + ":" + Digest.hmacSHA256(key: Array(token.utf8), message: message).hexadecimal
    }

    /// Returns a path encoded in the same way as the server encodes a received path.
    package static func canonical(path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            let text = segment.replacing("+", with: " ")
            return PathSegment(text.removingPercentEncoding ?? String(text)).map(encoded) ?? String(segment)
        }.joined(separator: "/")
    }

    /// Returns one segment of a path as the server encodes it, including the tilde.
    package static func encoded(_ segment: PathSegment) -> String {
        segment.escaped.replacing("~", with: "%7E")
    }
}

extension KeystoreToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Contains nothing of the key pair.
    public var description: String { "a key pair" }
    /// Contains nothing of the key pair.
    public var debugDescription: String { description }
    /// Contains nothing of the key pair.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
