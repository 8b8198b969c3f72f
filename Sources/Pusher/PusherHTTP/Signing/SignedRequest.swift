import Basics
import Foundation
import PusherProtocol
import Transport

/// Builds the requests of the HTTP API (Pusher HTTP API, “Authentication”).
struct SignedRequest {
    let method: String
    /// The path below the host, not escaped: `/apps/3/events`.
    let path: String
    /// The call's own parameters.
    var query: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// Returns path and query, signed and escaped, ready to append to the host.
    ///
    /// - Parameter timestamp: Seconds since 1970; the server accepts ten minutes to either side.
    func target(credentials: AppCredentials, timestamp: Int) -> String {
        var parameters = query
        parameters.append(("auth_key", credentials.key))
        parameters.append(("auth_timestamp", String(timestamp)))
        parameters.append(("auth_version", "1.0"))
        if !body.isEmpty { parameters.append(("body_md5", Digest.md5(body).hexadecimal)) }
        let signature = credentials.httpSignature(method: method, path: path, query: parameters)
        parameters.append(("auth_signature", signature))
        let query = parameters.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
        return "\(escapedPath)?\(query)"
    }

    /// The path with only the characters escaped that RFC 3986 does not allow: some servers verify the path as
    /// received, others unescaped.
    private var escapedPath: String {
        path.addingPercentEncoding(withAllowedCharacters: Self.pathCharacters) ?? path.percentEncoded
    }

    private static let pathCharacters = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~=@,;/")
}
