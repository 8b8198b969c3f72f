/// Parts of the answers of `/sync`.
package enum Sync {
    package static func room(
        _ id: String = "!r:s", state: [String] = [], timeline: [String] = [], isLimited: Bool = false,
        prevBatch: String? = nil, more: String = ""
    ) -> String {
        let token = prevBatch.map { #","prev_batch":"\#($0)""# } ?? ""
        return #"""
            "rooms":{"join":{"\#(id)":{"state":{"events":[\#(state.joined(separator: ","))]},
            "timeline":{"events":[\#(timeline.joined(separator: ","))],"limited":\#(isLimited)\#(token)}
            \#(more.isEmpty ? "" : ",")\#(more)}}}
            """#
    }

    package static func message(_ id: String, _ body: String = "hello", sender: String = "@b:s", ts: Int = 1) -> String
    {
        #"""
        {"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":\#(ts),
        "content":{"msgtype":"m.text","body":"\#(body)"}}
        """#
    }

    package static func reaction(_ id: String, to target: String, sender: String = "@b:s") -> String {
        #"""
        {"type":"m.reaction","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":1,
        "content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"\#(target)","key":"+"}}}
        """#
    }

    package static func member(_ user: String, _ membership: String = "join", name: String? = nil, id: String? = nil)
        -> String
    {
        let name = name.map { #","displayname":"\#($0)""# } ?? ""
        return #"""
            {"type":"m.room.member","event_id":"\#(id ?? "$member-\(user)")","sender":"\#(user)","state_key":"\#(user)",
            "origin_server_ts":1,"content":{"membership":"\#(membership)"\#(name)}}
            """#
    }

    package static let members = [member("@a:s", name: "Alice"), member("@b:s", name: "Bob")]
}
