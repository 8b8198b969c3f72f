/// A channel to a device, and its proven owner.
struct OlmSessionRecord: Record, Equatable {
    static let kind = RecordKind.olmSession
    private static let version: UInt8 = 1

    var session: OlmSession
    /// Milliseconds since 1970 of its creation or last received message. The newest channel is used for sending.
    var lastUsed: UInt64
    /// The owner; `nil` until a message has proved it.
    var owner: Owner?

    struct Owner: Hashable, Sendable {
        let user: String
        let ed25519: Ed25519PublicKey
    }

    init(session: OlmSession, lastUsed: UInt64, owner: Owner? = nil) {
        (self.session, self.lastUsed, self.owner) = (session, lastUsed, owner)
    }

    var state: SecretBytes {
        var writer = StateWriter(version: Self.version)
        writer.append(session.state)
        writer.append(lastUsed)
        writer.append(owner) { writer, owner in
            writer.append(owner.user)
            writer.append(owner.ed25519)
        }
        return writer.state
    }

    init(state: SecretBytes) throws(EncryptionError) {
        var reader = try StateReader(state, version: Self.version)
        session = try OlmSession(state: reader.secret())
        lastUsed = try reader.number()
        owner = try reader.optional { reader throws(EncryptionError) in
            Owner(user: try reader.text(), ed25519: try reader.key())
        }
        try reader.end()
    }
}
