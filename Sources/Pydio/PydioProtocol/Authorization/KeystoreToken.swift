import Basics
import Foundation
package import Transport

/// A key pair that stands for a user's password at a server with the REST interface (section 11.1).
///
/// Whoever has it can do what the user can. It is valid until the password changes, or another is made for its device.
public struct KeystoreToken: Sendable, Hashable, Codable {
    /// `t`
    public let token: String
    /// `p`
    public let key: String

    /// See the properties.
    public init(token: String, key: String) {
        (self.token, self.key) = (token, key)
    }

    /// The value of `auth_hash`.
    ///
    /// - Parameters:
    ///   - path: The path of the request's URL.
    ///   - nonce: Anything without a colon.
    package func hash(path: String, nonce: String) -> String {
        var uri = Self.canonical(path: path)
        if uri.count > 1, uri.hasSuffix("/") { uri.removeLast() }
        let message = Array("\(uri):\(nonce):\(key)".utf8)
        return nonce + ":" + Digest.hmacSHA256(key: Array(token.utf8), message: message).hexadecimal
    }

    /// A path encoded as the server encodes what it has received.
    package static func canonical(path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            let text = segment.replacing("+", with: " ")
            return PathSegment(text.removingPercentEncoding ?? String(text)).map(encoded) ?? String(segment)
        }.joined(separator: "/")
    }

    /// One segment of a path as the server encodes it: the tilde, too, is encoded.
    package static func encoded(_ segment: PathSegment) -> String {
        segment.escaped.replacing("~", with: "%7E")
    }
}

extension KeystoreToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of the pair.
    public var description: String { "a key pair" }
    /// Nothing of the pair.
    public var debugDescription: String { description }
    /// Nothing of the pair.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
