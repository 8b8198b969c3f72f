import Basics
public import Foundation
import GRDB
package import MatrixEncryption
public import MatrixProtocol
import Transport

/// Keeps an account in files: one SQLite database per user, in its own folder that only its owner can read.
///
/// - A commit is one transaction. After it returns, its changes survive a kill of the process. A power cut may undo the
///   last commits, each as a whole and in order; the server then repeats them.
/// - Only one store in one process can use an account at a time; another is refused.
/// - A damaged database is deleted and rebuilt when it is opened (``MXStoredSession/rebuildReason``), as is a database
///   of another device. Damage found later fails the call, and all calls after it, until the store is opened again.
/// - A database of a newer version of this library is refused and left unchanged.
///
/// Access tokens are not stored.
public final class MXFileStore: MXStore {
    private struct Open: Sendable {
        let folder: StoreFolder
        let lock: StoreLock
        let database: DatabaseQueue
        var isDamaged = false
        /// See ``notePlace(_:_:_:)``.
        var isPlaceNoted = false
    }

    private enum State: Sendable {
        /// Closed, with the folder that was open before.
        case closed(StoreFolder?)
        case open(Open)
    }

    private let state = Lock(State.closed(nil))
    private let lastDamage = Lock<String?>(nil)
    private let folder: URL
    private let eventsPerRoom: Int
    private let migrator: DatabaseMigrator
    private let allowsReaders: Bool

    /// Always true.
    public var isPermanent: Bool { true }

    /// - Parameters:
    ///   - folder: The parent of the accounts' folders, created if missing. By default `MatrixSDK` in `$XDG_DATA_HOME`,
    ///     or in `~/.local/share`.
    ///   - eventsPerRoom: The number of timeline events to keep per room, at least 1. Timelines that exceed it by a
    ///     quarter are trimmed when the store is opened and by ``trimTimeline(of:)``.
    public convenience init(folder: URL = MXFileStore.defaultFolder, eventsPerRoom: Int = 1000) {
        self.init(folder: folder, eventsPerRoom: eventsPerRoom, migrator: StoreSchema.migrator)
    }

    /// - Parameter allowsReaders: Whether other processes may read the database meanwhile, with
    ///   ``copy(of:deviceId:in:eventsPerRoom:notes:)`` and similar methods.
    package convenience init(folder: URL, eventsPerRoom: Int, allowsReaders: Bool) {
        self.init(
            folder: folder, eventsPerRoom: eventsPerRoom, migrator: StoreSchema.migrator, allowsReaders: allowsReaders)
    }

    init(
        folder: URL, eventsPerRoom: Int = 1000, migrator: DatabaseMigrator, allowsReaders: Bool = false
    ) {
        self.allowsReaders = allowsReaders
        self.folder = folder
        self.eventsPerRoom = min(max(1, eventsPerRoom), 1 << 31)
        self.migrator = migrator
    }

    deinit {
        close()
    }

    /// The default folder: `MatrixSDK` in `$XDG_DATA_HOME`, or in `~/.local/share`.
    public static var defaultFolder: URL {
        let data = ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let parent =
            data.map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share")
        return parent.appendingPathComponent("MatrixSDK")
    }

    static func exists(for userId: String, in folder: URL) -> Bool {
        guard let folder = try? StoreFolder(of: userId, in: folder) else { return false }
        return FileManager.default.fileExists(atPath: folder.database)
    }

    /// A report of the lost and rescued data if the database was damaged when the store was last opened; `nil` if it
    /// was sound.
    package var damageReport: String? { lastDamage.withLock { $0 } }

    // MARK: Opening

    /// Opens the account's database, or creates it.
    public func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession {
        try state.withLock { state throws(MatrixError) in
            if case .open = state { throw .storeIsOpen(of: userId) }
            let folder = try StoreFolder(of: userId, in: folder)
            let lock = try StoreLock(folder)
            let (database, session) = try openOrRebuild(folder, deviceId: deviceId)
            let isPlaceNoted = try notePlace(database, folder, lock)
            state = .open(Open(folder: folder, lock: lock, database: database, isPlaceNoted: isPlaceNoted))
            return session
        }
    }

    private func openOrRebuild(
        _ folder: StoreFolder, deviceId: String?
    ) throws(MatrixError) -> (DatabaseQueue, MXStoredSession) {
        lastDamage.withLock { $0 = nil }
        var isDamage = true
        var reason = folder.isMarkedAsDamaged ? "The database was damaged." : nil
        if folder.hasFormerDatabase { reason = "The database was damaged, and its keys were not saved yet." }
        if reason == nil {
            do {
                return try openDatabase(folder, deviceId: deviceId)
            } catch let error as MatrixError {
                throw error
            } catch let error as StoreOfAnother {
                (reason, isDamage) = ("The database belonged to \(error.owner).", false)
            } catch {
                guard StoreFailure.isDamage(error) else { throw StoreFailure.describe(error, "open", folder) }
                reason = "The database was damaged: \(StoreFailure.reason(error))."
            }
        }
        // The keys must never exist only in the memory of this process.
        try folder.putDatabaseAside()
        let rescued = rescuedRecords(folder, deviceId: deviceId)
        try folder.removeDatabase()
        do {
            var (database, session) = try openDatabase(folder, deviceId: deviceId)
            if isDamage {
                reason = [
                    reason, "Rooms and messages are asked for again; messages that were not sent are lost.",
                    rescued.outcome,
                ].compactMap(\.self).joined(separator: " ")
                lastDamage.withLock { $0 = reason }
            }
            session.rebuildReason = reason
            try database.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
                try database.inTransaction {
                    let writer = StoreWriter(database)
                    for (place, state) in rescued.records { try writer.set(state, at: place) }
                    // Ratchets set back by the damage would encrypt with used keys.
                    let mark = CryptoMachine.copyMark
                    if !rescued.records.isEmpty { try writer.set(mark.state, at: mark.place) }
                    return .commit
                }
            }
            try folder.removeFormerDatabase()
            return (database, session)
        } catch {
            throw StoreFailure.describe(error, "rebuild", folder)
        }
    }

    /// Returns the readable keys of the database that was put aside: no one sends them again.
    private func rescuedRecords(_ folder: StoreFolder, deviceId: String?) -> RescuedRecords {
        var configuration = Configuration()
        configuration.label = "MXFileStore rescue"
        guard folder.hasFormerDatabase,
            let database = try? DatabaseQueue(path: folder.formerDatabase, configuration: configuration)
        else { return RescuedRecords(isComplete: !folder.hasFormerDatabase) }
        defer { try? database.close() }
        // Without a transaction: damage would end it and discard what was read.
        let rescued = try? database.unsafeRead { database -> RescuedRecords in
            let reader = StoreReader(database)
            guard try reader.meta("user_id") == folder.userId, try reader.meta("device_id") == deviceId else {
                return RescuedRecords()
            }
            return reader.readableRecords()
        }
        return rescued ?? RescuedRecords(isComplete: false)
    }

    /// Checks whether the database is where the last process left it, and unchanged. In a copy, or a restored older
    /// state, nothing may be sent with the existing keys.
    ///
    /// Each opening writes a new number to the database and to the lock file, which represents the place. Between the
    /// two writes the former number is valid as well.
    ///
    /// - Returns: False if there are no keys to protect yet.
    private func notePlace(
        _ database: DatabaseQueue, _ folder: StoreFolder, _ lock: StoreLock
    ) throws(MatrixError) -> Bool {
        let number = UUID().uuidString
        do {
            guard try database.read({ try StoreReader($0).record(RecordKey(OlmAccount.kind)) }) != nil else {
                return false
            }
            try database.write { database in
                let (reader, writer) = (StoreReader(database), StoreWriter(database))
                let numbers = try ["opening", "opening_before"].compactMap { try reader.meta($0) }
                let file = try reader.meta("lock_file")
                let isInPlace =
                    numbers.isEmpty || file == "\(lock.fileNumber)" && numbers.contains(lock.formerNote ?? "")
                if !isInPlace {
                    let mark = CryptoMachine.copyMark
                    try writer.set(mark.state, at: mark.place)
                }
                try writer.setMeta("opening_before", numbers.first)
                try writer.setMeta("opening", number)
                try writer.setMeta("lock_file", "\(lock.fileNumber)")
            }
        } catch {
            try? database.close()
            throw StoreFailure.describe(error, "open", folder)
        }
        lock.note(number)
        return true
    }

    /// Notes the place once the first keys are stored.
    private func notePlaceOfKeys() throws(MatrixError) {
        let open = state.withLock { state -> Open? in
            guard case .open(var open) = state, !open.isPlaceNoted else { return nil }
            open.isPlaceNoted = true
            state = .open(open)
            return open
        }
        if let open { _ = try notePlace(open.database, open.folder, open.lock) }
    }

    private func openDatabase(_ folder: StoreFolder, deviceId: String?) throws -> (DatabaseQueue, MXStoredSession) {
        try folder.prepareDatabase()
        var configuration = Configuration()
        configuration.label = "MXFileStore"
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { [allowsReaders] database in
            // The lock file keeps other stores away. Without readers, this also keeps other programs away, and saves
            // the shared memory.
            if !allowsReaders { try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
            // Overwrites redacted or deleted data.
            try database.execute(
                sql: """
                    PRAGMA secure_delete = ON;
                    PRAGMA cache_size = -16384;
                    PRAGMA journal_size_limit = 4194304;
                    """)
        }
        let database = try DatabaseQueue(path: folder.database, configuration: configuration)
        do {
            return (database, try prepare(database, folder, deviceId: deviceId))
        } catch {
            try? database.close()
            throw error
        }
    }

    private func prepare(
        _ database: DatabaseQueue, _ folder: StoreFolder, deviceId: String?
    ) throws -> MXStoredSession {
        // Once a transaction has ended, the file's pages are with the system and survive the process. Only a power cut
        // can undo them, and never part of a transaction.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        guard try database.read({ try !migrator.hasBeenSuperseded($0) }) else {
            throw StoreFailure.newer(folder)
        }
        try migrator.migrate(database)
        return try database.write { database in
            let (reader, writer) = (StoreReader(database), StoreWriter(database))
            for sql in StoreSchema.checks { _ = try database.makeStatement(sql: sql) }
            if let owner = try reader.meta("user_id") {
                let device = try reader.meta("device_id")
                guard owner == folder.userId else { throw StoreOfAnother(owner: "another user") }
                guard device == deviceId else { throw StoreOfAnother(owner: "another device of the user") }
            } else {
                guard try reader.isEmpty() else { throw StoreDamage("it does not say whose it is") }
                try writer.setMeta("user_id", folder.userId)
                try writer.setMeta("device_id", deviceId)
            }
            for roomId in try reader.rooms(withMoreEventsThan: eventsPerRoom) {
                _ = try writer.trimTimeline(of: roomId, to: eventsPerRoom)
            }
            return try reader.session()
        }
    }

    // MARK: Writing

    /// Applies the changes in one transaction.
    public func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        guard !changes.isEmpty else { return }
        try perform("write to") { database in
            // If a power cut undid this, a ratchet would encrypt a second message with a used key, and keys from a sync
            // would be lost: the server drops them when it is asked for the next sync.
            let mustLast =
                changes.encryption.movesSendingRatchet || changes.syncToken != nil && !changes.encryption.isEmpty
            guard mustLast else { return try database.write { try StoreWriter($0).apply(changes) } }
            try database.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
                defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
                try database.inTransaction {
                    try StoreWriter(database).apply(changes)
                    return .commit
                }
            }
        }
        if changes.encryption.records.keys.contains(RecordKey(OlmAccount.kind)) { try notePlaceOfKeys() }
    }

    /// Trims a room's oldest events if there are many.
    public func trimTimeline(of roomId: String) throws(MatrixError) -> String? {
        try perform("write to") { database in
            try database.write { try StoreWriter($0).trimTimeline(of: roomId, to: eventsPerRoom) }
        }
    }

    // MARK: Reading

    /// Returns the current state of a room.
    public func state(of roomId: String) throws(MatrixError) -> [MXEvent] {
        try read { try $0.state(of: roomId) }
    }

    /// Returns an event of a room's current state.
    public func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError)
        -> MXEvent?
    {
        try read { try $0.stateEvent(of: roomId, type: type, key: key) }
    }

    /// Returns events of the timeline, newest first.
    public func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent] {
        try read { try $0.events(in: roomId, before: eventId, limit: limit) }
    }

    /// Returns an event of the timeline.
    public func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try read { try $0.event(eventId, in: roomId) }
    }

    /// Returns those of these events that are in the timeline.
    public func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String] {
        try read { try $0.knownEvents(among: eventIds, in: roomId) }
    }

    /// Returns the timeline events that relate to this one, oldest first.
    public func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent] {
        try read { try $0.relations(toEach: [eventId], in: roomId)[eventId] ?? [] }
    }

    /// Like ``relations(to:in:)``, but for each of several events that has any.
    public func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]> {
        try read { try $0.relations(toEach: eventIds, in: roomId) }
    }

    /// Returns the users' read receipts, in no particular order.
    public func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt] {
        try read { try $0.receipts(in: roomId) }
    }

    /// Returns the read receipts of one user.
    public func receipts(in roomId: String, of userId: String) throws(MatrixError) -> [MXReceipt] {
        try read { try $0.receipts(in: roomId, of: userId) }
    }

    // MARK: Notes

    /// Returns a note set with ``setNote(_:_:)``, also by an earlier process.
    package func note(_ name: String) throws(MatrixError) -> String? {
        try read { try $0.note(name) }
    }

    /// Keeps a note of the owner with the account; pass `nil` to remove it.
    package func setNote(_ name: String, _ value: String?) throws(MatrixError) {
        try perform("write to") { database in
            try database.write { try StoreWriter($0).setMeta(StoreReader.noteName(name), value) }
        }
    }

    fileprivate func read<Result>(_ body: (StoreReader) throws -> Result) throws(MatrixError) -> Result {
        try perform("read") { database in
            // The queue keeps writers away. `read` would forbid writing with a PRAGMA that makes SQLite prepare every
            // statement again, which takes much longer than reading.
            try database.unsafeRead { try body(StoreReader($0)) }
        }
    }

    /// Waits for the current call to the database.
    private func perform<Result>(
        _ what: String, _ body: (DatabaseQueue) throws -> Result
    ) throws(MatrixError) -> Result {
        let open = try state.withLock { state throws(MatrixError) -> Open in
            guard case .open(let open) = state else { throw .storeIsClosed }
            return open
        }
        if open.isDamaged { throw StoreFailure.damage(open.folder) }
        do {
            return try body(open.database)
        } catch {
            guard StoreFailure.isDamage(error) else { throw StoreFailure.describe(error, what, open.folder) }
            open.folder.markAsDamaged()
            state.withLock { state in
                if case .open(var open) = state {
                    open.isDamaged = true
                    state = .open(open)
                }
            }
            throw StoreFailure.damage(open.folder)
        }
    }

    // MARK: Closing

    /// Closes the database after the current call.
    public func close() {
        let open = state.withLock { state -> Open? in
            guard case .open(let open) = state else { return nil }
            state = .closed(open.folder)
            return open
        }
        if let open {
            try? open.database.close()  // unfinished work is done when it is opened again
            withExtendedLifetime(open.lock) {}
        }
    }

    /// Deletes the account's folder, even after ``close()``.
    public func deleteAllData() throws(MatrixError) {
        let (folder, open) = try state.withLock { state throws(MatrixError) -> (StoreFolder, Open?) in
            switch state {
            case .closed(nil): throw .storeIsClosed
            case .closed(let folder?): return (folder, nil)
            case .open(let open):
                state = .closed(open.folder)
                return (open.folder, open)
            }
        }
        let lock = if let open { open.lock } else { try StoreLock(folder) }
        try? open?.database.close()
        // Another process may have deleted the store, and a third one created a new one there.
        if lock.isHeld(in: folder) { try folder.removeAll() }
        withExtendedLifetime(lock) {}
    }
}

extension MXFileStore: RecordStore {
    package func record(_ key: RecordKey) throws(EncryptionError) -> SecretBytes? {
        try keys { reader throws in try reader.record(key) }
    }

    package func records(
        _ kind: RecordKind, scope: String
    ) throws(EncryptionError) -> [(key: String, state: SecretBytes)] {
        try keys { reader throws in try reader.records(kind, scope: scope) }
    }

    private func keys<Result>(_ body: (StoreReader) throws -> Result) throws(EncryptionError) -> Result {
        do {
            return try read(body)
        } catch {
            throw .store
        }
    }
}

/// Thrown if the database is sound, but belongs to someone else.
private struct StoreOfAnother: Error {
    let owner: String
}
