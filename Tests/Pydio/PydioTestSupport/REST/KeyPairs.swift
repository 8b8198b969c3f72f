import Basics
import Transport

/// Key pairs that sign requests in place of a password.
struct KeyPairs: Sendable {
    struct Pair: Sendable {
        let user: String
        let device: String
        let secret: String
    }

    private(set) var pairs: [String: Pair] = [:]

    /// A new pair of a device invalidates the previous one.
    mutating func make(user: String, device: String) -> (token: String, secret: String) {
        pairs = pairs.filter { $0.value.user != user || $0.value.device != device }
        let (token, secret) = (Digest.random(10), Digest.random(10))
        pairs[token] = Pair(user: user, device: device, secret: secret)
        return (token, secret)
    }

    mutating func revoke(_ token: String, of user: String) {
        if pairs[token]?.user == user { pairs[token] = nil }
    }

    mutating func revokeAll(of user: String? = nil) { pairs = pairs.filter { user != nil && $0.value.user != user } }

    /// The user of a correctly signed request.
    ///
    /// - Parameter path: The path as received.
    func user(of parameters: FormParameters, path: String) -> String? {
        guard let token = parameters["auth_token"], let pair = pairs[token],
            let hash = parameters["auth_hash"], let colon = hash.lastIndex(of: ":")
        else { return nil }
        let nonce = String(hash[..<colon])
        let message = "\(Self.canonical(path)):\(nonce):\(pair.secret)"
        let expected = Digest.hmacSHA256(key: Array(token.utf8), message: Array(message.utf8)).hexadecimal
        return hash[hash.index(after: colon)...] == expected && !nonce.contains(":") ? pair.user : nil
    }

    /// The path with each piece decoded and encoded again uniformly.
    static func canonical(_ path: String) -> String {
        var pieces = path.split(separator: "/", omittingEmptySubsequences: false)
        while pieces.count > 1, pieces.last?.isEmpty == true { pieces.removeLast() }
        return pieces.map { $0.urlDecoded.percentEncoded.replacing("~", with: "%7E") }.joined(separator: "/")
    }
}
