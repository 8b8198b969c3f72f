import Foundation
import JSONBytes

@testable import MatrixProtocol

extension MXEvent {
    /// Makes an event for tests.
    static func make(
        _ type: String = "m.room.message", _ content: [String: Any] = [:], id: String = "$e", sender: String = "@a:x",
        key: String? = nil, ts: UInt64 = 1, room: String? = "!r:x", unsigned: [String: Any]? = nil
    ) throws -> MXEvent {
        guard
            let event = MXEvent(
                type: type, content: content, eventId: id, sender: sender, stateKey: key, roomId: room,
                originServerTs: ts, unsigned: unsigned)
        else { throw NotAnEvent() }
        return event
    }

    static func member(
        _ userId: String, _ membership: String = "join", name: String? = nil, avatar: String? = nil,
        sender: String? = nil, before: String? = nil, ts: UInt64 = 1
    ) throws -> MXEvent {
        var content: [String: Any] = ["membership": membership]
        content["displayname"] = name
        content["avatar_url"] = avatar
        return try make(
            "m.room.member", content, id: "$member-\(userId)-\(membership)-\(ts)", sender: sender ?? userId,
            key: userId,
            ts: ts, unsigned: before.map { ["prev_content": ["membership": $0]] })
    }

    static func parse(_ json: String, room: String? = "!r:x") throws -> MXEvent {
        guard let event = MXEvent(data: Data(json.utf8), roomId: room) else { throw NotAnEvent() }
        return event
    }

    private struct NotAnEvent: Error {}
}

extension JSONView {
    /// Parses a test's JSON text.
    init(text: String) throws {
        guard let view = JSONView(Array(text.utf8)) else { throw NotJSON() }
        self = view
    }

    private struct NotJSON: Error {}
}

extension MXRoomState {
    /// A room state for tests.
    init(_ events: MXEvent...) {
        self.init(roomId: "!r:x", events: events)
    }
}
