package import JSONBytes
import MatrixEncryption

/// Cross-signing keys and signatures, as Synapse keeps them.
extension KeyServer {
    private static let sections = [
        "master_key": "master_keys", "self_signing_key": "self_signing_keys", "user_signing_key": "user_signing_keys",
    ]

    /// `POST /keys/device_signing/upload`, after the password.
    package func uploadIdentity(_ body: JSONView, of user: String) {
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
                        signatures[address.user, default: [:]][user] = signed  // hidden from other users
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

    /// A cross-signing key as the server shows it to a user.
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
