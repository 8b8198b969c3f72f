import CommandKit
import Foundation
import MatrixSDK

/// What the commands keep of an account: its rooms, their newest messages, and the point of the stream that was reached.
///
/// One process owns it at a time. Another takes a copy into its memory, syncs that from the same point, and writes nothing:
/// it is as up to date as the owner, and whatever the owner does is no matter to it.
struct MatrixStore: Sendable {
    /// Names need the state of rooms, not their messages; unread counts and `listen --since` need some.
    static let eventsPerRoom = 100

    let userID: String
    let deviceID: String?
    var folder = UserFile.Base.data.folder.appending(path: "matrix")

    /// The store itself, to be owned.
    var file: MXFileStore { MXFileStore(folder: folder, eventsPerRoom: Self.eventsPerRoom, allowsReaders: true) }

    var ownership: StoreOwnership { MXFileStore.ownership(of: userID, in: folder) }

    /// Who owns it, for people.
    var ownerName: String { ownership.name }

    /// - Parameter notes: Names of what was noted; their values as of the same moment.
    func copy(
        notes: [String]
    ) throws(MatrixError) -> (store: MXMemoryStore, notes: [String: String], ownerNeedsKeys: Bool)? {
        try MXFileStore.copy(
            of: userID, deviceId: deviceID, in: folder, eventsPerRoom: Self.eventsPerRoom, notes: notes)
    }

    /// Rooms as of the last sync, the one with the newest message first.
    func rooms() throws -> [MXRoomSummary] {
        guard let stored = try MXFileStore.stored(of: userID, deviceId: deviceID, in: folder), stored.syncToken != nil
        else {
            throw CommandFailure(.badData, "no rooms are stored yet: run pusher-cli matrix rooms without --offline")
        }
        return stored.summaries.newestFirst
    }

    /// Rooms that say this is an alias of theirs, as of the last sync.
    func rooms(withAlias alias: String) throws(MatrixError) -> [AliasClaim] {
        try MXFileStore.rooms(withAlias: alias, of: userID, deviceId: deviceID, in: folder)
    }

    func isEncrypted(_ roomID: String) throws(MatrixError) -> Bool {
        try MXFileStore.isEncrypted(roomID, of: userID, deviceId: deviceID, in: folder)
    }

    /// Whether the login has keys, which other users' devices send theirs to.
    var hasKeys: Bool { (try? MXFileStore.hasKeys(of: userID, deviceId: deviceID, in: folder)) ?? false }

    /// Where its owner's key agent listens.
    var agentFolder: String { get throws(MatrixError) { try MXFileStore.agentFolder(of: userID, in: folder) } }

    func delete() throws(MatrixError) { try MXFileStore.delete(of: userID, in: folder) }

    /// Nothing depends on the store: without one, everything is asked for.
    static func warn(_ error: MatrixError) {
        StandardError.write(
            "warning: \(Complaint.text(error.message)) This command does without it, and asks for all rooms.")
    }
}

/// A store that a session has.
struct OpenedStore: Sendable {
    /// Nil if it is in memory.
    var file: MXFileStore?
    /// What was noted in it, or in the one that it is a copy of.
    var notes: [String: String] = [:]
    /// It is a copy of a store whose owner must get all keys that the homeserver sends.
    var ownerNeedsKeys = false
}

extension MatrixAccount {
    /// The owner of the store may be asking for everything for the first time, which others need not do as well.
    private static let firstSyncPatience = Duration.seconds(60)

    /// Gives a session what is stored of the account: the store itself, or a copy if another process owns it, or nothing.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for another process to let go of the store, before a copy is taken.
    ///   - notes: Names of notes that are wanted.
    ///   - saysDamage: Whether to say what a damaged store has lost: not for who hears of it from the session.
    func openStore(
        of session: MXSession, patience: Duration = .zero, notes: [String] = [], saysDamage: Bool = true
    ) async -> OpenedStore {
        let start = ContinuousClock.now
        var freeStores = 0
        var said: String?
        func say(_ what: String) {
            if said != what { StatusLine.wait(for: TerminalText(what)) }
            said = what
        }
        defer { if said != nil { StatusLine.wait(for: "the answer of \(serverName)") } }
        while session.state != .closed {
            let file = store.file
            do throws(MatrixError) {
                try session.setStore(file)
                if saysDamage, let report = file.damageReport {
                    StandardError.write("warning: the store of \(userID) was rebuilt. \(Complaint.text(report))")
                }
                return OpenedStore(file: file, notes: file.values(of: notes))
            } catch {
                switch store.ownership {
                case .free:
                    // It may have been let go of between the two questions.
                    freeStores += 1
                    if freeStores > 3 {
                        MatrixStore.warn(error)
                        return OpenedStore()
                    }
                case .owned:
                    let owner = store.ownerName
                    let waited = start.duration(to: .now)
                    guard waited >= patience else {
                        say("\(owner), which uses what is stored")
                        break
                    }
                    do throws(MatrixError) {
                        if let copy = try store.copy(notes: notes) {
                            try session.setStore(copy.store)
                            return OpenedStore(notes: copy.notes, ownerNeedsKeys: copy.ownerNeedsKeys)
                        }
                    } catch {
                        return OpenedStore(ownerNeedsKeys: store.hasKeys)
                    }
                    guard waited < Self.firstSyncPatience else { return OpenedStore(ownerNeedsKeys: store.hasKeys) }
                    say("\(owner), which asks for your rooms")
                }
                try? await Task.sleep(for: .milliseconds(50))
                if Task.isCancelled { break }
            }
        }
        return OpenedStore()
    }
}

extension MXFileStore {
    fileprivate func values(of notes: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for name in notes { values[name] = try? note(name) }
        return values
    }
}

extension StoreOwnership {
    /// The process that owns the store, for people.
    fileprivate var name: String {
        if case .owned(let process?) = self { "process \(process)" } else { "another process" }
    }
}

extension [MXRoomSummary] {
    /// The one with the newest message first, as a session lists them.
    fileprivate var newestFirst: Self { sorted { ($0.lastMessageTs, $1.roomId) > ($1.lastMessageTs, $0.roomId) } }
}
