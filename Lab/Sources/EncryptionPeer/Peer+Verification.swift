import JSONBytes
import MatrixEncryption

/// The keys of one side of a verification, and the secret once the other side's key is known.
struct SASKeys {
    let pair: Curve25519KeyPair
    var secret: SecretBytes?
}

extension Peer {
    static let verification: [String: Operation] = [
        "sas.make": { peer, request in
            let pair = Curve25519KeyPair(random: .system)
            peer.verifications[try request.text("sas")] = SASKeys(pair: pair)
            return JSONWriter("key", pair.publicKey.base64)
        },
        "sas.agree": { peer, request in
            let name = try request.text("sas")
            var keys = try peer.verifications.named(name)
            keys.secret = try keys.pair.sharedSecret(with: request.curve25519("key"))
            peer.verifications[name] = keys
            return JSONWriter()
        },
        "sas.compare": { peer, request in
            let string = ShortAuthenticationString(
                secret: try peer.secret(request), starter: try request.party("starter"),
                accepter: try request.party("accepter"), transactionID: try request.text("transaction"))
            var answer = JSONWriter()
            answer.add("emoji", json: "\(string.emoji.map(\.index))")
            answer.add("decimals", json: "\(string.decimals)")
            return answer
        },
        "sas.codes": { peer, request in
            JSONWriter("content", try peer.codes(request).content(of: request.keys("keys")))
        },
        "sas.check": { peer, request in
            var answer = JSONWriter()
            let content = try request.value("content")
            answer.add("keys", try peer.codes(request).verify(content, known: request.keys("keys")).sorted())
            return answer
        },
        "sas.commitment": { _, request in
            let (key, start) = (try request.curve25519("key"), try request.value("start"))
            return JSONWriter("commitment", try ShortAuthenticationString.commitment(key: key, start: start))
        },
        "qr.write": { _, request in
            guard let mode = VerificationQRCode.Mode(rawValue: UInt8(truncatingIfNeeded: try request.number("mode")))
            else { throw EncryptionError.mode }
            let code = try VerificationQRCode(
                mode: mode, id: request.text("id"), firstKey: Ed25519PublicKey(base64: request.text("first")),
                secondKey: Ed25519PublicKey(base64: request.text("second")), secret: request.secret("secret"))
            return JSONWriter("code", UnpaddedBase64.encode(code.bytes))
        },
        "qr.read": { _, request in
            let code = try VerificationQRCode(request.bytes("code"))
            var answer = JSONWriter("secret", code.secret)
            answer.add("mode", code.mode.rawValue)
            answer.add("id", code.id)
            answer.add("first", code.firstKey.base64)
            answer.add("second", code.secondKey.base64)
            return answer
        },
    ]

    private func secret(_ request: JSONView) throws -> SecretBytes {
        guard let secret = try verifications.named(request.text("sas")).secret else { throw Misuse("no key yet") }
        return secret
    }

    private func codes(_ request: JSONView) throws -> SASAuthentication {
        guard let method = SASCodeMethod(rawValue: try request.text("method")) else { throw Misuse("no such method") }
        return SASAuthentication(
            secret: try secret(request), method: method, sender: try request.party("sender"),
            receiver: try request.party("receiver"), transactionID: try request.text("transaction"))
    }
}

extension JSONView {
    /// The user, device and key of a side.
    fileprivate func party(_ key: String) throws -> SASParty {
        let texts = self[key]?.array?.compactMap(\.string) ?? []
        guard texts.count == 3 else { throw Misuse("\(key) is no user, device and key") }
        return SASParty(userID: texts[0], deviceID: texts[1], key: try Curve25519PublicKey(base64: texts[2]))
    }
}
