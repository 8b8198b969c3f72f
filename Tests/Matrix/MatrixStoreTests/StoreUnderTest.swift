import Foundation
import MatrixProtocol
import MatrixSDK

/// A store of one of the makes, with an open account.
final class StoreUnderTest {
    enum Make: CaseIterable, Sendable {
        case memory
        case file
    }

    static let userId = "@alice:example.org"

    let folder: TemporaryFolder
    private let make: Make
    private let eventsPerRoom: Int
    private(set) var store: any MXStore

    init(_ make: Make, eventsPerRoom: Int = 1000) throws {
        (self.make, self.eventsPerRoom, folder) = (make, eventsPerRoom, try TemporaryFolder())
        store =
            switch make {
            case .memory: MXMemoryStore(eventsPerRoom: eventsPerRoom)
            case .file: MXFileStore(folder: folder.url, eventsPerRoom: eventsPerRoom)
            }
        _ = try store.open(userId: Self.userId, deviceId: "DEVICE")
    }

    deinit {
        store.close()
    }

    /// Reopens a persistent store, so that the next reads come from disk.
    func reopenIfPermanent() throws {
        guard make == .file else { return }
        store.close()
        store = MXFileStore(folder: folder.url, eventsPerRoom: eventsPerRoom)
        _ = try store.open(userId: Self.userId, deviceId: "DEVICE")
    }

    /// Changes one room.
    func commit(_ roomId: String = "!r", _ change: (inout MXStoreChanges.Room) -> Void) throws {
        var room = MXStoreChanges.Room()
        change(&room)
        var changes = MXStoreChanges()
        changes.rooms[roomId] = room
        try store.commit(changes)
        try reopenIfPermanent()
    }

    /// The IDs of the whole timeline, oldest first.
    func timeline(_ roomId: String = "!r") throws -> [String] {
        try store.events(in: roomId, before: nil, limit: 10_000).map(\.eventId).reversed()
    }
}

/// Deleted with its owner.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("matrix-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The URL of an account's file.
    func file(_ name: String) -> URL {
        url.appendingPathComponent("%40alice%3Aexample.org").appendingPathComponent(name)
    }
}

extension MXEvent {
    /// Makes an event from JSON text.
    static func make(_ json: String, roomId: String? = "!r") -> MXEvent {
        guard let event = MXEvent(data: Data(json.utf8), roomId: roomId) else { fatalError("no event: \(json)") }
        return event
    }

    static func message(_ eventId: String, body: String = "text", relatesTo: String? = nil) -> MXEvent {
        let relation = relatesTo.map { #","m.relates_to":{"rel_type":"m.annotation","event_id":"\#($0)"}"# } ?? ""
        return make(
            #"{"type":"m.room.message","event_id":"\#(eventId)","sender":"@bob:example.org","#
                + #""content":{"body":"\#(body)"\#(relation)}}"#)
    }

    static func state(_ type: String, key: String = "", content: String = "{}") -> MXEvent {
        make(#"{"type":"\#(type)","state_key":"\#(key)","content":\#(content)}"#)
    }

    static func data(_ type: String, content: String = "{}", sender: String? = nil) -> MXEvent {
        make(
            #"{"type":"\#(type)","content":\#(content)\#(sender.map { #","sender":"\#($0)""# } ?? "")}"#, roomId: nil)
    }
}

extension Sequence<Int> {
    var messages: [MXEvent] { map { .message("$\($0)") } }
    var ids: [String] { map { "$\($0)" } }
}
