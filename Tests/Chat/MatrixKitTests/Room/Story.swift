import Foundation
import JSONBytes
import MatrixProtocol
import Testing

/// Events of a room in order, and the room's state before each. The user is Alice, `@a:s`.
struct Story {
    private(set) var events: [MXEvent] = []
    private(set) var states: [MXRoomState] = []
    private var state: MXRoomState
    private(set) var now: UInt64

    static let room = "!r:s"
    /// Saturday 21 November 2026, 9:00 UTC.
    static let morning: UInt64 = 1_795_251_600_000

    init(at start: UInt64 = Story.morning, members: [String] = ["@a:s", "@b:s", "@c:s"]) throws {
        now = start
        state = MXRoomState(roomId: Story.room)
        for user in members {
            let name = user == "@a:s" ? "Alice" : user == "@b:s" ? "Bob" : "Carol"
            state.apply(
                try Story.event(
                    "m.room.member", "$m\(user)", user, #"{"membership":"join","displayname":"\#(name)"}"#, start,
                    key: user))
        }
    }

    static func event(
        _ type: String, _ id: String, _ sender: String, _ content: String, _ ts: UInt64, key: String? = nil,
        unsigned: String? = nil
    ) throws -> MXEvent {
        let key = key.map { #","state_key":"\#($0)""# } ?? ""
        let unsigned = unsigned.map { #","unsigned":\#($0)"# } ?? ""
        let json = #"""
            {"type":"\#(type)","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),"content":\#(content)\#(key)\#(unsigned)}
            """#
        return try #require(MXEvent(data: Data(json.utf8), roomId: room))
    }

    static func text(_ body: String, _ type: String = "m.text") -> String {
        "{\"msgtype\":\"\(type)\",\"body\":\(JSONString.quoted(body))}"
    }

    static func html(_ html: String) -> String {
        #"{"msgtype":"m.text","body":"plain","format":"org.matrix.custom.html","formatted_body":\#(JSONString.quoted(html))}"#
    }

    static func image(_ name: String = "plan.png") -> String {
        #"{"msgtype":"m.image","body":"\#(name)","url":"mxc://s/i","info":{"w":640,"h":480,"size":81234,"mimetype":"image/png"}}"#
    }

    // MARK: Events

    mutating func wait(_ seconds: UInt64) { now += seconds * 1000 }

    mutating func go(to ts: UInt64) { now = ts }

    @discardableResult
    mutating func add(
        _ type: String, _ sender: String, _ content: String, id: String? = nil, key: String? = nil,
        unsigned: String? = nil
    ) throws -> MXEvent {
        let event = try Story.event(
            type, id ?? "$\(events.count)", sender, content, now, key: key, unsigned: unsigned)
        events.append(event)
        states.append(state)
        state.apply(event)
        now += 1000
        return event
    }

    @discardableResult
    mutating func say(_ body: String, _ sender: String = "@b:s", type: String = "m.text") throws -> MXEvent {
        try add("m.room.message", sender, Story.text(body, type))
    }

    @discardableResult
    mutating func member(
        _ user: String, _ membership: String = "join", name: String? = nil, avatar: String? = nil,
        by sender: String? = nil
    ) throws -> MXEvent {
        let name = name.map { #","displayname":"\#($0)""# } ?? ""
        let avatar = avatar.map { #","avatar_url":"\#($0)""# } ?? ""
        let before = state.members.member(withUserId: user)?.originalEvent.contentJSON.data
        return try add(
            "m.room.member", sender ?? user, #"{"membership":"\#(membership)"\#(name)\#(avatar)}"#, key: user,
            unsigned: before.map { #"{"prev_content":\#(String(decoding: $0, as: UTF8.self))}"# })
    }

    @discardableResult
    mutating func react(_ sender: String = "@b:s") throws -> MXEvent {
        try add(
            "m.reaction", sender,
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$nothing","key":"+"}}"#)
    }

    @discardableResult
    mutating func encrypted(_ sender: String = "@b:s") throws -> MXEvent {
        try add("m.room.encrypted", sender, #"{"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"x","session_id":"y"}"#)
    }

    // MARK: Changes of events

    static func redacted(_ event: MXEvent) throws -> MXEvent {
        try Story.event(
            event.wireType, event.eventId, event.sender, "{}", event.originServerTs,
            unsigned: #"{"redacted_because":{"type":"m.room.redaction","sender":"\#(event.sender)","content":{}}}"#)
    }

    static func decrypted(_ event: MXEvent, _ type: String, _ content: String) throws -> MXEvent {
        event.withDecrypted(try #require(JSONView(Array(#"{"type":"\#(type)","content":\#(content)}"#.utf8))))
    }
}
