import JSONBytes
import MatrixEncryption

extension Peer {
    static let olm: [String: Operation] = [
        "olm.account": { peer, request in
            var account = OlmAccount(random: .system)
            account.makeOneTimeKeys(try request.number("keys"), random: .system)
            account.replaceFallbackKey(random: .system)
            peer.accounts[try request.text("account")] = account
            var answer = JSONWriter("curve25519", account.curve25519.publicKey.base64)
            answer.add("ed25519", account.ed25519.publicKey.base64)
            answer.add("keys", account.oneTimeKeys.map(\.publicKey.base64))
            answer.add("fallback", account.fallbackKey?.publicKey.base64 ?? "")
            return answer
        },
        "olm.open": { peer, request in
            let account = try peer.accounts.named(request.text("account"))
            let session = try account.outboundSession(
                identityKey: request.curve25519("identity"), oneTimeKey: request.curve25519("key"), random: .system)
            peer.sessions[try request.text("session")] = session
            return JSONWriter("id", session.id)
        },
        "olm.accept": { peer, request in
            let name = try request.text("account")
            var account = try peer.accounts.named(name)
            let (session, plaintext) = try account.inboundSession(
                from: OlmPreKeyMessage(request.bytes("body")), senderKey: request.curve25519("sender"))
            peer.accounts[name] = account
            peer.sessions[try request.text("session")] = session
            var answer = JSONWriter("text", plaintext)
            answer.add("id", session.id)
            return answer
        },
        "olm.encrypt": { peer, request in
            let name = try request.text("session")
            var session = try peer.sessions.named(name)
            let message = try session.encrypt(request.secret("text"), random: .system)
            peer.sessions[name] = session
            var answer = JSONWriter("body", message.body)
            answer.add("type", message.type)
            return answer
        },
        "olm.decrypt": { peer, request in
            let name = try request.text("session")
            var session = try peer.sessions.named(name)
            // A rejected message must leave the session unchanged.
            defer { peer.sessions[name] = session }
            return JSONWriter(
                "text", try session.decrypt(OlmMessage(type: request.number("type"), body: request.text("body"))))
        },
        "olm.store": { peer, request in
            let name = try request.text("session")
            peer.sessions[name] = try OlmSession(state: peer.sessions.named(name).state)
            return JSONWriter()
        },
    ]

    static let megolm: [String: Operation] = [
        "megolm.make": { peer, request in
            var session = OutboundGroupSession(random: .system)
            try session.skip(to: request.index("index"))
            peer.outbound[try request.text("session")] = session
            return JSONWriter("id", session.id)
        },
        "megolm.skip": { peer, request in
            let name = try request.text("session")
            var session = try peer.outbound.named(name)
            try session.skip(to: request.index("index"))
            peer.outbound[name] = try OutboundGroupSession(state: session.state)
            return JSONWriter()
        },
        "megolm.key": { peer, request in
            JSONWriter("key", try peer.outbound.named(request.text("session")).sessionKey)
        },
        "megolm.encrypt": { peer, request in
            let name = try request.text("session")
            var session = try peer.outbound.named(name)
            var answer = JSONWriter()
            answer.add("index", session.index)
            answer.add("body", UnpaddedBase64.encode(try session.encrypt(request.secret("text"))))
            peer.outbound[name] = session
            return answer
        },
        "megolm.receive": { peer, request in
            try peer.add(InboundGroupSession(sessionKey: request.secret("key")), request)
        },
        "megolm.import": { peer, request in
            try peer.add(InboundGroupSession(exported: request.secret("key")), request)
        },
        "megolm.decrypt": { peer, request in
            let name = try request.text("session")
            var session = try peer.inbound.named(name)
            defer { peer.inbound[name] = session }
            let message = try MegolmMessage(request.bytes("body"))
            var answer = JSONWriter("text", try session.decrypt(message))
            answer.add("index", message.index)
            return answer
        },
        "megolm.export": { peer, request in
            JSONWriter("key", try peer.inbound.named(request.text("session")).exported(at: request.index("index")))
        },
        "megolm.connected": { peer, request in
            let (one, other) = (try request.text("session"), try request.text("other"))
            var answer = JSONWriter()
            let isConnected = try peer.inbound.named(one).isConnected(to: peer.inbound.named(other))
            answer.add("connected", json: "\(isConnected)")
            return answer
        },
        "megolm.store": { peer, request in
            let name = try request.text("session")
            peer.inbound[name] = try InboundGroupSession(state: peer.inbound.named(name).state)
            return JSONWriter()
        },
    ]

    private mutating func add(_ session: InboundGroupSession, _ request: JSONView) throws -> JSONWriter {
        inbound[try request.text("session")] = session
        var answer = JSONWriter("id", session.id)
        answer.add("first", session.firstIndex)
        return answer
    }
}

extension Dictionary where Key == String {
    func named(_ name: String) throws -> Value {
        guard let value = self[name] else { throw Misuse("nothing is named \(name)") }
        return value
    }
}
