import JSONBytes
import MatrixEncryption

extension Peer {
    static let storage: [String: Operation] = [
        "backup.public": { _, request in
            JSONWriter("public", try Curve25519KeyPair(privateKey: request.secret("private")).publicKey.base64)
        },
        "backup.encrypt": { _, request in
            let key = try request.curve25519("public")
            return JSONWriter("data", try KeyBackup.encrypt(request.secret("text"), for: key, random: .system))
        },
        "backup.decrypt": { _, request in
            let pair = try Curve25519KeyPair(privateKey: request.secret("private"))
            return JSONWriter("text", try KeyBackup.decrypt(request.value("data"), with: pair))
        },
        "recovery.write": { _, request in JSONWriter("words", RecoveryKey.text(of: try request.secret("key"))) },
        "recovery.read": { _, request in JSONWriter("key", try RecoveryKey.key(request.text("words"))) },
        "secrets.encrypt": { _, request in
            let secret = EncryptedSecret(
                try request.secret("text"), name: try request.text("name"), key: try request.secret("key"),
                random: .system)
            return JSONWriter("secret", secret.json)
        },
        "secrets.decrypt": { _, request in
            let secret = try EncryptedSecret(request.value("secret"))
            return JSONWriter("text", try secret.decrypt(name: request.text("name"), key: request.secret("key")))
        },
        "secrets.check": { _, request in
            _ = try SecretStorageKeyDescription(request.value("description")).check(request.secret("key"))
            return JSONWriter()
        },
        "secrets.describe": { _, request in
            let passphrase = PassphraseDerivation(random: .system, iterations: try request.number("iterations"))
            let key = try passphrase.key(request.text("passphrase"))
            var answer = JSONWriter("key", key)
            answer.add(
                "description",
                SecretStorageKeyDescription(of: key, passphrase: passphrase, random: .system).json)
            return answer
        },
        "secrets.derive": { _, request in
            let description = try SecretStorageKeyDescription(request.value("description"))
            guard let passphrase = description.passphrase else { throw Misuse("it has no passphrase") }
            return JSONWriter("key", try passphrase.key(request.text("passphrase")))
        },
    ]

    static let files: [String: Operation] = [
        "export.write": { _, request in
            JSONWriter(
                "file",
                KeyExport.file(
                    of: try request.secret("text"), passphrase: try request.text("passphrase"),
                    rounds: try request.number("rounds"), random: .system))
        },
        "export.read": { _, request in
            let file = Array(try request.text("file").utf8)
            return JSONWriter("text", try KeyExport.json(of: file, passphrase: request.text("passphrase")))
        },
        "attachment.encrypt": { _, request in
            var encryptor = AttachmentEncryptor(random: .system)
            var data: [UInt8] = []
            for piece in pieces(of: try request.bytes("text")) { data += encryptor.encrypt(piece) }
            var answer = JSONWriter("data", UnpaddedBase64.encode(data))
            answer.add("file", encryptor.finish().json)
            return answer
        },
        "attachment.decrypt": { _, request in
            let pieces = pieces(of: try request.bytes("data"))
            var check = AttachmentCheck(of: try EncryptedFile(request.value("file")))
            for piece in pieces { check.update(piece) }
            var decryptor = try check.finish()
            return JSONWriter("text", UnpaddedBase64.encode(pieces.flatMap { decryptor.decrypt($0) }))
        },
        "signed.sign": { _, request in
            let pair = try Ed25519KeyPair(seed: request.secret("seed"))
            let object = try SignedJSON.sign(
                request.value("object"), with: pair, user: request.text("user"), keyID: request.text("id"))
            var answer = JSONWriter("object", object)
            answer.add("key", pair.publicKey.base64)
            return answer
        },
        "signed.verify": { _, request in
            try SignedJSON.verify(
                request.value("object"), with: Ed25519PublicKey(base64: request.text("key")),
                user: request.text("user"), keyID: request.text("id"))
            return JSONWriter()
        },
    ]

    /// Pieces of odd sizes, so that cipher blocks may span two of them.
    private static func pieces(of bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 37).map { Array(bytes[$0..<min($0 + 37, bytes.count)]) }
    }
}
