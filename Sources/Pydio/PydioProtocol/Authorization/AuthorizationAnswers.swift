import Foundation

/// The answer to `get_seed` (4.1).
package struct SeedResponse: Hashable, Sendable {
    package let seed: String
    /// Whether a captcha must be solved before the login.
    package let needsCaptcha: Bool
}

/// The answer to `login` and `logout` (4.2).
package struct LoginResponse: Hashable, Sendable {
    package let result: PydioLoginResult
    package let secureToken: String?
}

extension AnswerRecogniser where Value == SeedResponse {
    package static let seed = Self("the request for a login's seed") { body in
        guard body.document == nil, body.mimeType != "text/html", body.bytes.count <= 10_000 else { return .other }
        let text = body.text
        if text.hasPrefix("{") || body.mimeType == "application/json" {
            guard let object = body.json as? [String: Any],
                let seed = (object["seed"] as? String) ?? JSONNumber.integer(object["seed"]).map({ String($0) })
            else { return .incomplete }
            let needsCaptcha = (object["captcha"] as? NSNumber)?.boolValue ?? (object["captcha"] as? String == "true")
            return usable(seed.trimmingCharacters(in: .whitespacesAndNewlines), needsCaptcha)
        }
        return usable(text, false)
    }

    private static func usable(_ seed: String, _ needsCaptcha: Bool) -> Match {
        guard !seed.isEmpty, seed.utf8.count <= 200, seed.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return .incomplete
        }
        return .value(SeedResponse(seed: seed, needsCaptcha: needsCaptcha))
    }
}

extension AnswerRecogniser where Value == LoginResponse {
    package static let login = Self("the login") { body in
        guard let root = body.root, root.name == "tree" else { return .other }
        guard let result = root.child("logging_result"), let value = result["value"] else { return .incomplete }
        let login = PydioLoginResult(value: value)
        return .value(LoginResponse(result: login, secureToken: login == .success ? result["secure_token"] : nil))
    }
}

extension AnswerRecogniser where Value == String {
    /// The answer to `get_secure_token` (4.4).
    package static let secureToken = Self("the request for a token") { body in
        let token = body.text
        guard body.document == nil, body.mimeType == "text/plain", (8...200).contains(token.utf8.count),
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return .other }
        return .value(token)
    }
}

extension AnswerRecogniser where Value == Void {
    /// The answer to `pass_change` (section 7). Some versions also send `SUCCESS` after an error.
    package static let passwordChange = Self("the change of the password") { body in
        if body.isBlank { return .unsupported("change the password") }
        guard body.document == nil else { return .other }
        if body.text == "SUCCESS" { return .value(()) }
        return body.text.hasPrefix("PASS_ERROR")
            ? .serverError("the old password is wrong, or the new one too short (PASS_ERROR)") : .other
    }

    /// The answer to `keystore_revoke_tokens`: an empty one means that nothing was revoked.
    package static let revocation = Self("the revocation of a key pair") { body in
        if let object = body.json as? [String: Any] {
            return object["result"] as? String == "ERROR"
                ? .serverError(object["message"] as? String ?? "the key pair was not revoked") : .value(())
        }
        return Match(body.root.flatMap { $0.name == "tree" ? () : nil })
    }
}

extension AnswerRecogniser where Value == KeystoreToken? {
    /// The answer to `keystore_generate_auth_token`; `nil` if the server has no key pairs (11.1).
    package static let keystoreToken = Self("the request for a key pair") { body in
        if body.isBlank { return .value(nil) }
        guard body.bytes.count <= 10_000, let object = body.json as? [String: Any], let token = object["t"] as? String,
            let key = object["p"] as? String, !token.isEmpty, !key.isEmpty
        else { return .other }
        return .value(KeystoreToken(token: token, key: key))
    }
}
