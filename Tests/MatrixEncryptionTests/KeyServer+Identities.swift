import JSONBytes
import MatrixEncryption
import Testing

/// Cross-signing keys and signatures, as Synapse keeps them.
extension KeyServer {
    private static let sections = [
        "master_key": "master_keys", "self_signing_key": "self_signing_keys", "user_signing_key": "user_signing_keys",
    ]

    /// `POST /keys/device_signing/upload`, after the password.
    func uploadIdentity(_ body: JSONView, of user: String) {
        for (key, value) in body.members {
            if let section = Self.sections[key] { identities[user, default: [:]][section] = value.detached }
        }
        signatures[user] = nil
        noteChange(of: user)
    }

    /// `POST /keys/signatures/upload`.
    func sign(_ body: JSONView, from address: DeviceAddress) -> JSONView {
        var failures: [(user: String, id: String)] = []
        for (user, objects) in body.members {
            for (id, signed) in objects.members {
                let device = DeviceAddress(user, id)
                if user == address.user, let keys = devices[device]?.keys {
                    devices[device]?.keys = Self.merge(keys, signed)
                    noteChange(of: user)
                } else if let master = identities[user]?["master_keys"],
                    master["keys"]?["ed25519:" + id] != nil
                {
                    if user == address.user {
                        identities[user]?["master_keys"] = Self.merge(master, signed)
                    } else {
                        signatures[address.user, default: [:]][user] = signed  // nobody else sees it
                    }
                    noteChange(of: user)
                } else {
                    failures.append((user, id))
                }
            }
        }
        return object { answer in
            answer.add(
                "failures",
                object { users in
                    for failure in failures {
                        users.add(
                            failure.user,
                            object { $0.add(failure.id, object { $0.add("errcode", "M_NOT_FOUND") }) })
                    }
                })
        }
    }

    /// A cross-signing key as a user gets it.
    func identity(_ section: String, of user: String, for asker: String) -> JSONView? {
        guard let key = identities[user]?[section], section != "user_signing_keys" || user == asker else { return nil }
        guard section == "master_keys", let signed = signatures[asker]?[user] else { return key }
        return Self.merge(key, signed)
    }

    private static func merge(_ base: JSONView, _ signed: JSONView) -> JSONView {
        var all: [String: [String: JSONView]] = [:]
        for json in [base, signed] {
            for (user, keys) in json["signatures"]?.members ?? [] {
                for (id, signature) in keys.members { all[user, default: [:]][id] = signature }
            }
        }
        return object { writer in
            for (key, value) in base.members where key != "signatures" { writer.add(key, value) }
            writer.add(
                "signatures",
                object { users in
                    for (user, keys) in all {
                        users.add(user, object { writer in for (id, value) in keys { writer.add(id, value) } })
                    }
                })
        }
    }
}

extension TestDevice {
    /// Makes and uploads cross-signing keys.
    func makeIdentity(isReset: Bool = false) throws {
        try sync()
        let body = try turn { try $0.makeIdentity(isReset: isReset, &$1) }
        server.uploadIdentity(body, of: address.user)
        try turn { try $0.identityUploaded(&$1) }
        try pump()
        try sync()
    }

    func know(_ users: String...) throws {
        try turn { try $0.track(users, &$1) }
        try pump()
    }

    var ownIdentity: OwnIdentityState { get throws { try turn { try $0.ownIdentity(&$1) } } }

    func isVerified(_ user: String) throws -> Bool { try turn { try $0.isVerified(user, &$1) } }

    func identity(of user: String) throws -> IdentityRecord {
        try #require(try turn { try $1.records.value(IdentityRecord.self, key: user) })
    }

    func trust(_ device: TestDevice) throws -> DeviceTrust {
        let (user, id) = (device.address.user, device.address.device)
        return try turn { machine, turn in
            let record = try #require(try turn.records.value(DeviceRecord.self, scope: user, key: id))
            return try machine.trust(of: record, &turn)
        }
    }

    /// The private half that this device has, of whatever worth.
    func secret(_ name: SecretName) throws -> SecretBytes? {
        try turn { try $0.secret(name, &$1) }
    }
}
