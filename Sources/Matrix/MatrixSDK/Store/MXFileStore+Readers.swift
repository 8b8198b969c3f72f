import GRDB
import MatrixEncryption
package import MatrixProtocol

/// What is had of an account's store without owning it: by a process that comes second, or that has no time.
extension MXFileStore {
    /// Whether somebody owns the store of a user now.
    package static func ownership(of userId: String, in folder: URL) -> StoreOwnership {
        guard let folder = try? StoreFolder(of: userId, in: folder) else { return .free }
        return StoreLock.ownership(of: folder)
    }

    /// What the store holds, without timelines and states; nil if there is nothing of this device's.
    package static func stored(
        of userId: String, deviceId: String?, in folder: URL
    ) throws(MatrixError) -> MXStoredSession? {
        let place = try StoreFolder(of: userId, in: folder)
        if place.isMarkedAsDamaged { throw StoreFailure.damage(place) }
        return try read(of: userId, deviceId: deviceId, in: folder) { try $0.session() }
    }

    /// A store in memory that begins with what this one holds at this moment, and goes on alone; nil if there is nothing of
    /// this device's, or nothing was synced yet.
    ///
    /// - Parameter notes: Names of notes to be read as of the same moment.
    /// - Returns: `ownerNeedsKeys`: keys are sent to the owner, by each sync once. Whoever goes on syncing from the copy takes
    ///   them away.
    package static func copy(
        of userId: String, deviceId: String?, in folder: URL, eventsPerRoom: Int, notes: [String] = []
    ) throws(MatrixError) -> (store: MXMemoryStore, notes: [String: String], ownerNeedsKeys: Bool)? {
        let copy = try read(of: userId, deviceId: deviceId, in: folder) { reader -> Copy? in
            var session = try reader.session()
            guard session.syncToken != nil else { return nil }
            session.outgoing = []  // they are the owner's to send
            var read: [String: String] = [:]
            for name in notes { read[name] = try reader.note(name) }
            let hasKeys = try reader.record(RecordKey(OlmAccount.kind)) != nil
            let isInEncryptedRoom = session.summaries.contains { $0.isEncrypted && $0.membership == .join }
            return Copy(
                session: session, contents: try reader.contents(eventsPerRoom: eventsPerRoom), notes: read,
                ownerNeedsKeys: hasKeys && isInEncryptedRoom)
        }
        guard let copy = copy ?? nil else { return nil }
        let store = MXMemoryStore(copy.session, contents: copy.contents, eventsPerRoom: eventsPerRoom)
        return (store, copy.notes, copy.ownerNeedsKeys)
    }

    private struct Copy {
        let session: MXStoredSession
        let contents: MXStoreChanges
        let notes: [String: String]
        let ownerNeedsKeys: Bool
    }

    /// Rooms that we are in and that say this is an alias of theirs, as of the last sync.
    package static func rooms(
        withAlias alias: String, of userId: String, deviceId: String?, in folder: URL
    ) throws(MatrixError) -> [AliasClaim] {
        try read(of: userId, deviceId: deviceId, in: folder) { try $0.rooms(withAlias: alias) } ?? []
    }

    /// Whether the login has keys.
    package static func hasKeys(of userId: String, deviceId: String?, in folder: URL) throws(MatrixError) -> Bool {
        try read(of: userId, deviceId: deviceId, in: folder, since: StoreSchema.firstWithKeys) {
            try $0.record(RecordKey(OlmAccount.kind)) != nil
        } ?? false
    }

    /// Whether what is stored says that a room is encrypted, which it then stays.
    package static func isEncrypted(
        _ roomId: String, of userId: String, deviceId: String?, in folder: URL
    ) throws(MatrixError) -> Bool {
        let isNoted = try read(of: userId, deviceId: deviceId, in: folder, since: StoreSchema.firstWithKeys) {
            try $0.record(RecordKey(EncryptedRoomRecord.kind, key: roomId)) != nil
        }
        if isNoted == true { return true }
        return try read(of: userId, deviceId: deviceId, in: folder, since: StoreSchema.first) {
            try $0.summary(of: roomId)?.isEncrypted == true
        } ?? false
    }

    /// Where the owner of an account's store may put a socket called `agent`, for other processes of the same user to ask for
    /// what needs the keys. Only the user can enter the folder.
    package static func agentFolder(of userId: String, in folder: URL) throws(MatrixError) -> String {
        try StoreFolder(of: userId, in: folder).path
    }

    /// Deletes what is stored of a user. Another process that has it open goes on with files that nobody else can find, and
    /// that the system deletes with its end.
    package static func delete(of userId: String, in folder: URL) throws(MatrixError) {
        try StoreFolder(of: userId, in: folder).removeAll()
    }

    /// Reads the database beside its owner, who may be writing it.
    ///
    /// - Parameter oldest: The migration after which what is read is there; nil is the newest.
    /// - Returns: Nil if it is not there, or another device's, or one that only its owner can bring up to date.
    private static func read<Value>(
        of userId: String, deviceId: String?, in folder: URL, since oldest: String? = nil,
        _ body: (StoreReader) throws -> Value
    ) throws(MatrixError) -> Value? {
        let folder = try StoreFolder(of: userId, in: folder)
        guard FileManager.default.fileExists(atPath: folder.database), !folder.isMarkedAsDamaged else { return nil }
        var configuration = Configuration()
        configuration.label = "MXFileStore reader"
        configuration.readonly = true
        configuration.busyMode = .timeout(1)
        do {
            let database = try DatabaseQueue(path: folder.database, configuration: configuration)
            defer { try? database.close() }
            return try database.read { database in
                guard try !StoreSchema.migrator.hasBeenSuperseded(database) else { throw StoreFailure.newer(folder) }
                let isNewEnough =
                    if let oldest {
                        try StoreSchema.migrator.appliedIdentifiers(database).contains(oldest)
                    } else {
                        try StoreSchema.migrator.hasCompletedMigrations(database)
                    }
                guard isNewEnough else { return nil }
                let reader = StoreReader(database)
                guard try reader.meta("user_id") == userId, try reader.meta("device_id") == deviceId else { return nil }
                return try body(reader)
            }
        } catch {
            if StoreFailure.isDamage(error) { throw StoreFailure.damage(folder) }
            throw StoreFailure.describe(error, "read", folder)
        }
    }
}

/// A room that says that an alias leads to it.
package struct AliasClaim: Hashable, Sendable {
    package let roomId: String
    /// Whether a user of the alias's own server says so, which the server has let pass: it is the one that would be asked
    /// where the alias leads. Anybody else who may can claim any alias for a room.
    package let isOfAliasServer: Bool
}

/// Who has a store.
package enum StoreOwnership: Equatable, Sendable {
    case free
    /// - Parameter process: Nil: not known.
    case owned(process: Int32?)
}
