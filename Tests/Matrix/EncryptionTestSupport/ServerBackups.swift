package import JSONBytes
import MatrixEncryption

/// An error that a server returns.
package struct ServerRefusal: Error {
    package let code: String
    package var isFinal = true
}

/// Backups of room keys, as Synapse keeps them.
package struct ServerBackups {
    package struct Version {
        package var id: String
        package var content: JSONView
        /// By room and session.
        package var rooms: [String: [String: JSONView]] = [:]

        package var count: Int { rooms.values.reduce(0) { $0 + $1.count } }
    }

    package var versions: [Version] = []
    private var last = 0
    /// Requests get no answer.
    package var isFailing = false
    /// Every upload is rejected with the name of another version.
    package var isAlwaysWrong = false

    /// Adds a backup that another client made.
    package mutating func add(_ content: JSONView) {
        last += 1
        versions.append(Version(id: "\(last)", content: content))
    }

    /// Servers choose the names of versions.
    package mutating func rename(_ id: String, to name: String) {
        for index in versions.indices where versions[index].id == id { versions[index].id = name }
    }

    mutating func answer(_ call: CryptoRequest.Call, _ body: JSONView) throws -> JSONView {
        if isFailing { throw ServerRefusal(code: "", isFinal: false) }
        switch call {
        case .makeBackup:
            add(body.detached)
            return object { $0.add("version", "\(last)") }
        case .checkBackup:
            let current = try current(nil)
            return object { writer in
                for (key, value) in versions[current].content.members { writer.add(key, value) }
                writer.add("version", versions[current].id)
                writer.add("count", json: "\(versions[current].count)")
            }
        case .deleteBackup(let version):
            guard let index = versions.firstIndex(where: { $0.id == version }) else {
                throw ServerRefusal(code: "M_NOT_FOUND")
            }
            versions.remove(at: index)
            return object { _ in }
        case .uploadRoomKeys(let version):
            let index = try current(isAlwaysWrong ? "0" : version)
            for (room, value) in body["rooms"]?.members ?? [] {
                for (session, entry) in value["sessions"]?.members ?? [] {
                    versions[index].rooms[room, default: [:]][session] = entry.detached
                }
            }
            return object { $0.add("count", json: "\(versions[index].count)") }
        case .downloadRoomKeys(let version):
            let rooms = try versions[current(version)].rooms
            return object { writer in
                writer.add(
                    "rooms",
                    object { writer in
                        for (room, sessions) in rooms {
                            writer.add(
                                room,
                                object { writer in
                                    writer.add(
                                        "sessions",
                                        object { for (session, entry) in sessions { $0.add(session, entry) } })
                                })
                        }
                    })
            }
        case .downloadRoomKey(let version, let room, let session):
            guard let entry = try versions[current(version)].rooms[room]?[session] else {
                throw ServerRefusal(code: "M_NOT_FOUND")
            }
            return entry
        case .uploadKeys, .queryKeys, .claimKeys, .sendToDevice, .uploadSignatures, .sendToRoom:
            throw ServerRefusal(code: "M_UNRECOGNIZED")
        }
    }

    /// - Parameter version: `nil` for any.
    private func current(_ version: String?) throws -> Int {
        guard let last = versions.last else { throw ServerRefusal(code: "M_NOT_FOUND") }
        guard version == nil || version == last.id else { throw ServerRefusal(code: "M_WRONG_ROOM_KEYS_VERSION") }
        return versions.count - 1
    }
}
