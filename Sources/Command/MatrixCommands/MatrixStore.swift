import CommandKit
import Foundation
import MatrixSDK

/// The stored data of an account: its rooms, their newest messages, and the position in the stream.
///
/// One process owns it at a time. Another makes a copy in memory, syncs that from the same position, and writes
/// nothing. It is as up to date as the owner, and independent of it.
struct MatrixStore: Sendable {
    /// Names need the state of rooms but no messages; unread counts and `listen --since` need some.
    static let eventsPerRoom = 100

    let userID: String
    let deviceID: String?
    var folder = UserFile.Base.data.folder.appending(path: "matrix")

    /// The store itself, to take ownership of.
    var file: MXFileStore { MXFileStore(folder: folder, eventsPerRoom: Self.eventsPerRoom, allowsReaders: true) }

    var ownership: StoreOwnership { MXFileStore.ownership(of: userID, in: folder) }

    /// The owner, for messages.
    var ownerName: String { ownership.name }

    /// - Parameter notes: The names of the notes to read, with values from the same moment.
    func copy(
        notes: [String]
    ) throws(MatrixError) -> (store: MXMemoryStore, notes: [String: String], ownerNeedsKeys: Bool)? {
        try MXFileStore.copy(
            of: userID, deviceId: deviceID, in: folder, eventsPerRoom: Self.eventsPerRoom, notes: notes)
    }

    /// Returns the rooms as of the last sync, the one with the newest message first.
    func rooms() throws -> [MXRoomSummary] {
        guard let stored = try MXFileStore.stored(of: userID, deviceId: deviceID, in: folder), stored.syncToken != nil
        else {
            throw CommandFailure(.badData, "no rooms are stored yet: run pusher-cli matrix rooms without --offline")
        }
        return stored.summaries.newestFirst
    }

    /// Returns the rooms that claim this alias, as of the last sync.
    func rooms(withAlias alias: String) throws(MatrixError) -> [AliasClaim] {
        try MXFileStore.rooms(withAlias: alias, of: userID, deviceId: deviceID, in: folder)
    }

    func isEncrypted(_ roomID: String) throws(MatrixError) -> Bool {
        try MXFileStore.isEncrypted(roomID, of: userID, deviceId: deviceID, in: folder)
    }

    /// Whether the login has keys, to which other users' devices send theirs.
    var hasKeys: Bool { (try? MXFileStore.hasKeys(of: userID, deviceId: deviceID, in: folder)) ?? false }

    /// The folder in which the owner's key agent listens.
    var agentFolder: String { get throws(MatrixError) { try MXFileStore.agentFolder(of: userID, in: folder) } }

    func delete() throws(MatrixError) { try MXFileStore.delete(of: userID, in: folder) }

    /// Warns that the store is unusable: without one, everything is requested from the server.
    static func warn(_ error: MatrixError) {
        StandardError.write(
            "warning: \(Complaint.text(error.message)) This command does without it, and asks for all rooms.")
    }
}

/// The store of a session.
struct OpenedStore: Sendable {
    /// The file store; `nil` if it is in memory.
    var file: MXFileStore?
    /// The notes of the store, or of the original if this is a copy.
    var notes: [String: String] = [:]
    /// Whether it is a copy of a store whose owner must receive all keys from the homeserver.
    var ownerNeedsKeys = false
}

extension MatrixAccount {
    /// The owner of the store may be in its first full sync, which others should not repeat.
    private static let firstSyncPatience = Duration.seconds(60)

    /// Gives a session the stored data of the account: the store itself, or a copy if another process owns it, or
    /// nothing.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for another process to release the store, before making a copy.
    ///   - notes: The names of the notes to read.
    ///   - saysDamage: Whether to report what a damaged store has lost. Pass false if the session reports it.
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
                    // The store may have been released between the two checks.
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
    /// The process that owns the store, for messages.
    fileprivate var name: String {
        if case .owned(let process?) = self { "process \(process)" } else { "another process" }
    }
}

extension [MXRoomSummary] {
    /// The rooms in the order of a session, the one with the newest message first.
    fileprivate var newestFirst: Self { sorted { ($0.lastMessageTs, $1.roomId) > ($1.lastMessageTs, $0.roomId) } }
}
