import GRDB
import MatrixEncryption
package import MatrixProtocol

/// Access to an account's store without owning it: for a second process, or one in a hurry.
extension MXFileStore {
    /// Returns whether a process owns the store of a user now.
    package static func ownership(of userId: String, in folder: URL) -> StoreOwnership {
        guard let folder = try? StoreFolder(of: userId, in: folder) else { return .free }
        return StoreLock.ownership(of: folder)
    }

    /// Returns the store's contents without timelines and states, or `nil` if it has nothing of this device.
    package static func stored(
        of userId: String, deviceId: String?, in folder: URL
    ) throws(MatrixError) -> MXStoredSession? {
        let place = try StoreFolder(of: userId, in: folder)
        if place.isMarkedAsDamaged { throw StoreFailure.damage(place) }
        return try read(of: userId, deviceId: deviceId, in: folder) { try $0.session() }
    }

    /// Returns a store in memory that starts with the current contents of this one and is independent from then on, or
    /// `nil` if there is nothing of this device, or nothing was synced yet.
    ///
    /// - Parameter notes: The names of notes to read at the same moment.
    /// - Returns: `ownerNeedsKeys`: whether the owner is sent keys, each in one sync only. Continuing to sync from the
    ///   copy takes them away from the owner.
    package static func copy(
        of userId: String, deviceId: String?, in folder: URL, eventsPerRoom: Int, notes: [String] = []
    ) throws(MatrixError) -> (store: MXMemoryStore, notes: [String: String], ownerNeedsKeys: Bool)? {
        let copy = try read(of: userId, deviceId: deviceId, in: folder) { reader -> Copy? in
            var session = try reader.session()
            guard session.syncToken != nil else { return nil }
            session.outgoing = []  // only the owner sends them
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

    /// Returns the joined rooms that claim this alias as theirs, as of the last sync.
    package static func rooms(
        withAlias alias: String, of userId: String, deviceId: String?, in folder: URL
    ) throws(MatrixError) -> [AliasClaim] {
        try read(of: userId, deviceId: deviceId, in: folder) { try $0.rooms(withAlias: alias) } ?? []
    }

    package static func hasKeys(of userId: String, deviceId: String?, in folder: URL) throws(MatrixError) -> Bool {
        try read(of: userId, deviceId: deviceId, in: folder, since: StoreSchema.firstWithKeys) {
            try $0.record(RecordKey(OlmAccount.kind)) != nil
        } ?? false
    }

    /// Returns whether the store knows a room as encrypted. It then stays encrypted.
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

    /// Returns the folder in which the owner of an account's store may place a socket called `agent`. Other processes
    /// of the same user use it for requests that need the keys. Only the user can enter the folder.
    package static func agentFolder(of userId: String, in folder: URL) throws(MatrixError) -> String {
        try StoreFolder(of: userId, in: folder).path
    }

    /// Deletes a user's store. Another process that has it open continues with files that no one else can find, and
    /// that the system deletes when it exits.
    package static func delete(of userId: String, in folder: URL) throws(MatrixError) {
        try StoreFolder(of: userId, in: folder).removeAll()
    }

    /// Reads the database next to its owner, which may be writing it.
    ///
    /// - Parameter oldest: The migration that introduced the data to read; `nil` for the newest.
    /// - Returns: `nil` if the database does not exist, belongs to another device, or needs a migration that only its
    ///   owner can do.
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

/// A room's claim that an alias refers to it.
package struct AliasClaim: Hashable, Sendable {
    package let roomId: String
    /// Whether the claim is made by a user of the alias's own server, and that server has accepted it: it is the server
    /// that resolves the alias. Anyone else with permission can claim any alias for a room.
    package let isOfAliasServer: Bool
}

package enum StoreOwnership: Equatable, Sendable {
    case free
    /// - Parameter process: The owner; `nil` if unknown.
    case owned(process: Int32?)
}
