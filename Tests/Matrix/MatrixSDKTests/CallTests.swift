import Basics
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing
import Transport

/// The requests of each call, as the specification writes them.
@Suite(.overSockets)
struct CallTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let call: @Sendable (MXRestClient) async throws -> Void
        /// The method, the path below `/_matrix/client/` and the query, decoded.
        let target: String
        let body: String

        init(_ target: String, _ body: String = "", _ call: @escaping @Sendable (MXRestClient) async throws -> Void) {
            (self.target, self.body, self.call) = (target, body, call)
        }

        var testDescription: String { target }
    }

    private static func message(_ text: String) -> MXEvent? {
        MXEvent(
            data: Data(#"{"type":"m.room.message","event_id":"$x","sender":"@b:s","content":{"body":"\#(text)"}}"#.utf8)
        )
    }

    static let rooms: [Row] = [
        Row("POST v3/createRoom", #"{"name":"n","preset":"private_chat","invite":["@b:s"],"is_direct":true}"#) {
            let parameters = MXRoomCreationParameters()
            parameters.name = "n"
            parameters.preset = kMXRoomPresetPrivateChat
            parameters.inviteArray = ["@b:s"]
            parameters.isDirect = true
            let got = try await $0.createRoom(parameters: parameters)
            #expect(got == "!r")
        },
        Row(
            "POST v3/createRoom",
            #"{"creation_content":{"type":"m.space"},"initial_state":[{"type":"m.room.encryption","state_key":"","content":{"algorithm":"m.megolm.v1.aes-sha2"}}],"room_version":"11","room_alias_name":"al","visibility":"public","topic":"t"}"#
        ) {
            let parameters = MXRoomCreationParameters()
            parameters.roomType = "m.space"
            parameters.isEncrypted = true
            parameters.roomVersion = "11"
            parameters.roomAlias = "al"
            parameters.visibility = .public
            parameters.topic = "t"
            _ = try await $0.createRoom(parameters: parameters)
        },
        Row("POST v3/join/#al:s?via=x&server_name=x&via=y&server_name=y", #"{"reason":"why"}"#) {
            let got = try await $0.joinRoom("#al:s", viaServers: ["x", "y"], reason: "why")
            #expect(got == "!r")
        },
        Row("POST v3/knock/!k", "{}") { try await $0.knockRoom("!k") },
        Row("POST v3/rooms/!r/leave", "{}") { try await $0.leaveRoom("!r") },
        Row("POST v3/rooms/!r/forget", "{}") { try await $0.forgetRoom("!r") },
        Row("POST v3/rooms/!r/invite", #"{"user_id":"@b:s","reason":"x"}"#) {
            try await $0.inviteUser("@b:s", toRoom: "!r", reason: "x")
        },
        Row(
            "POST v3/rooms/!r/invite",
            #"{"id_server":"i","id_access_token":"t","medium":"email","address":"a@b"}"#
        ) { try await $0.inviteByEmail("a@b", toRoom: "!r", identityServer: "i", identityAccessToken: "t") },
        Row("POST v3/rooms/!r/kick", #"{"user_id":"@b:s"}"#) { try await $0.kickUser("@b:s", fromRoom: "!r") },
        Row("POST v3/rooms/!r/ban", #"{"user_id":"@b:s"}"#) { try await $0.banUser("@b:s", fromRoom: "!r") },
        Row("POST v3/rooms/!r/unban", #"{"user_id":"@b:s"}"#) { try await $0.unbanUser("@b:s", fromRoom: "!r") },
        Row("GET v3/rooms/!r/state/m.room.member/@b:s") {
            _ = try await $0.stateEvent(ofRoom: "!r", eventType: .roomMember, stateKey: "@b:s")
        },
        Row("GET v3/rooms/!r/state/m.room.name/") { _ = try await $0.stateEvent(ofRoom: "!r", eventType: .roomName) },
        Row("PUT v3/rooms/!r/state/m.x/k", #"{"a":1}"#) {
            let id = try await $0.sendStateEvent(
                toRoom: "!r", eventType: .custom("m.x"), content: ["a": 1], stateKey: "k")
            #expect(id == "$e")
        },
        Row("PUT v3/rooms/!r/state/m.room.topic/", #"{"topic":"t"}"#) { try await $0.setRoomTopic("t", ofRoom: "!r") },
        Row("GET v3/rooms/!r/members?at=s1&not_membership=leave") {
            _ = try await $0.members(ofRoom: "!r", at: "s1", notMembership: .leave)
        },
        Row("POST v3/rooms/!r/upgrade", #"{"new_version":"12"}"#) {
            let got = try await $0.upgradeRoom("!r", toVersion: "12")
            #expect(got == "!n")
        },
        Row("POST v3/rooms/!r/report/$e", #"{"reason":"spam","score":-100}"#) {
            try await $0.reportEvent("$e", inRoom: "!r", reason: "spam", score: -100)
        },
        Row("GET v1/rooms/!r/hierarchy?suggested_only=true&limit=5&max_depth=2&from=f") {
            _ = try await $0.spaceHierarchy(ofRoom: "!r", suggestedOnly: true, limit: 5, maxDepth: 2, from: "f")
        },
        Row("GET v1/rooms/!r/timestamp_to_event?ts=7&dir=b") {
            let got = try await $0.eventId(inRoom: "!r", at: 7, direction: .backwards).eventId
            #expect(got == "$e")
        },
        Row("GET v3/directory/room/#al:s") {
            let got = try await $0.resolveRoomAlias("#al:s").roomId
            #expect(got == "!r")
        },
        Row("PUT v3/directory/room/#al:s", #"{"room_id":"!r"}"#) { try await $0.addRoomAlias("#al:s", toRoom: "!r") },
        Row("DELETE v3/directory/room/#al:s") { try await $0.removeRoomAlias("#al:s") },
        Row("PUT v3/directory/list/room/!r", #"{"visibility":"private"}"#) {
            try await $0.setDirectoryVisibility(.private, ofRoom: "!r")
        },
        Row("GET v3/publicRooms?server=other&limit=10&since=p") {
            _ = try await $0.publicRooms(onServer: "other", limit: 10, since: "p")
        },
        Row("POST v3/publicRooms", #"{"limit":3,"filter":{"generic_search_term":"cats"}}"#) {
            _ = try await $0.publicRooms(onServer: nil, limit: 3, filter: "cats")
        },
    ]

    static let messages: [Row] = [
        Row("PUT v3/rooms/!r/send/m.x/t", #"{"a":[1,"b",null,true]}"#) {
            let content: [String: Any] = ["a": [1, "b", NSNull(), true] as [Any]]
            _ = try await $0.sendEvent(
                toRoom: "!r", eventType: .custom("m.x"), content: content, transactionId: "t")
        },
        Row("PUT v3/rooms/!r/send/m.x/t", #"{"kept": "as it is"}"#) {
            _ = try await $0.sendEvent(
                toRoom: "!r", eventType: .custom("m.x"), contentJSON: #"{"kept": "as it is"}"#, transactionId: "t")
        },
        Row(
            "PUT v3/rooms/!r/send/m.room.message/t",
            #"{"msgtype":"m.emote","body":"waves","m.mentions":{},"format":"org.matrix.custom.html","formatted_body":"<b>waves</b>"}"#
        ) {
            _ = try await $0.sendEmote(
                toRoom: "!r", text: "waves", formattedText: "<b>waves</b>", transactionId: "t")
        },
        Row(
            "PUT v3/rooms/!r/send/m.room.message/t",
            #"{"msgtype":"m.notice","body":"n","m.mentions":{},"m.relates_to":{"rel_type":"m.thread","event_id":"$root","is_falling_back":true,"m.in_reply_to":{"event_id":"$root"}}}"#
        ) { _ = try await $0.sendNotice(toRoom: "!r", threadId: "$root", text: "n", transactionId: "t") },
        Row(
            "PUT v3/rooms/!r/send/m.room.message/t",
            #"{"msgtype":"m.text","body":"* new","m.mentions":{},"m.new_content":{"msgtype":"m.text","body":"new","m.mentions":{}},"m.relates_to":{"rel_type":"m.replace","event_id":"$e"}}"#
        ) { _ = try await $0.sendEdit(ofEvent: "$e", inRoom: "!r", text: "new", transactionId: "t") },
        Row(
            "PUT v3/rooms/!r/send/m.room.message/t",
            #"{"msgtype":"m.text","body":"yes","m.mentions":{"user_ids":["@b:s"]},"m.relates_to":{"m.in_reply_to":{"event_id":"$x"}}}"#
        ) {
            let event = try #require(message("?"))
            _ = try await $0.sendReply(to: event, inRoom: "!r", text: "yes", transactionId: "t")
        },
        Row(
            "PUT v3/rooms/!r/send/m.reaction/t",
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"$e","key":"👍"}}"#
        ) { _ = try await $0.sendReaction("👍", toEvent: "$e", inRoom: "!r", transactionId: "t") },
        Row("PUT v3/rooms/!r/redact/$e/t", #"{"reason":"no"}"#) {
            let got = try await $0.redactEvent("$e", inRoom: "!r", reason: "no", transactionId: "t")
            #expect(got == "$e")
        },
        Row("PUT v3/sendToDevice/m.x/t", #"{"messages":{"@b:s":{"*":{"a":1}}}}"#) {
            let messages: [String: Any] = ["@b:s": ["*": ["a": 1]]]
            try await $0.sendToDevice(eventType: "m.x", messages: messages, transactionId: "t")
        },
        Row("GET v3/rooms/!r/messages?dir=b&from=a&to=b&limit=30&filter={}") {
            let page = try await $0.messages(forRoom: "!r", from: "a", to: "b", limit: 30, filter: "{}")
            #expect(page.end == "end" && page.chunk.map(\.eventId) == ["$c"] && page.chunk[0].roomId == "!r")
        },
        Row("GET v3/rooms/!r/context/$e?limit=4") {
            let context = try await $0.contextOfEvent("$e", inRoom: "!r", limit: 4)
            #expect(context.event.eventId == "$c" && context.event.roomId == "!r" && context.end == "end")
        },
        Row("GET v1/rooms/!r/relations/$e/m.annotation/m.reaction?from=f&limit=9&dir=b") {
            let page = try await $0.relations(
                forEvent: "$e", inRoom: "!r", relationType: "m.annotation", eventType: .reaction, from: "f", limit: 9)
            #expect(page.chunk.count == 1 && page.nextBatch == "next")
        },
        Row("GET v1/rooms/!r/relations/$e?dir=f") {
            _ = try await $0.relations(forEvent: "$e", inRoom: "!r", direction: .forwards)
        },
        Row("GET v1/rooms/!r/threads?include=participated&limit=2") {
            _ = try await $0.threads(inRoom: "!r", participatedOnly: true, limit: 2)
        },
        Row("POST v3/rooms/!r/receipt/m.read/$e", #"{"thread_id":"main"}"#) {
            try await $0.sendReadReceipt(toRoom: "!r", forEvent: "$e", threadId: "main")
        },
        Row("POST v3/rooms/!r/receipt/m.read.private/$e", "{}") {
            try await $0.sendReadReceipt(toRoom: "!r", forEvent: "$e", isPrivate: true)
        },
        Row("POST v3/rooms/!r/read_markers", #"{"m.fully_read":"$e","m.read":"$f"}"#) {
            try await $0.sendReadMarkers(toRoom: "!r", fullyRead: "$e", read: "$f")
        },
        Row("PUT v3/rooms/!r/typing/@a:s", #"{"typing":true,"timeout":20000}"#) {
            try await $0.sendTypingNotification(inRoom: "!r", typing: true, timeout: .seconds(20))
        },
        Row("PUT v3/rooms/!r/typing/@a:s", #"{"typing":false}"#) {
            try await $0.sendTypingNotification(inRoom: "!r", typing: false)
        },
    ]

    static let account: [Row] = [
        Row("PUT v3/presence/@a:s/status", #"{"presence":"unavailable","status_msg":"out"}"#) {
            try await $0.setPresence(.unavailable, statusMessage: "out")
        },
        Row("PUT v3/user/@a:s/account_data/m.direct", #"{"@b:s":["!r"]}"#) {
            try await $0.setAccountData(["@b:s": ["!r"]], ofType: "m.direct")
        },
        Row("PUT v3/user/@a:s/rooms/!r/account_data/m.x", #"{"unread":true}"#) {
            try await $0.setRoomAccountData(["unread": true], inRoom: "!r", ofType: "m.x")
        },
        Row("PUT v3/user/@a:s/rooms/!r/tags/m.favourite", #"{"order":0.5}"#) {
            try await $0.addTag("m.favourite", order: 0.5, toRoom: "!r")
        },
        Row("DELETE v3/user/@a:s/rooms/!r/tags/u.x") { try await $0.removeTag("u.x", fromRoom: "!r") },
        Row("PUT v3/profile/@a:s/displayname", #"{"displayname":"A"}"#) { try await $0.setDisplayName("A") },
        Row("PUT v3/profile/@a:s/avatar_url", #"{"avatar_url":""}"#) { try await $0.setAvatarUrl(nil) },
        Row("PUT v3/devices/D", #"{"display_name":"n"}"#) { try await $0.setDeviceName("n", forDevice: "D") },
        Row("POST v3/user/@a:s/filter", #"{"room":{"timeline":{"limit":5}}}"#) {
            let got = try await $0.createFilter(["room": ["timeline": ["limit": 5]]])
            #expect(got == "0")
        },
        Row("PUT v3/pushrules/global/room/!r?before=x", #"{"actions":["notify"]}"#) {
            try await $0.setPushRule(kind: "room", ruleId: "!r", rule: ["actions": ["notify"]], before: "x")
        },
        Row("PUT v3/pushrules/global/override/.m.rule.master/enabled", #"{"enabled":false}"#) {
            try await $0.enablePushRule(kind: "override", ruleId: ".m.rule.master", enabled: false)
        },
        Row("PUT v3/pushrules/global/room/!r/actions", #"{"actions":[{"set_tweak":"highlight"}]}"#) {
            try await $0.setPushRuleActions(kind: "room", ruleId: "!r", actions: #"[{"set_tweak":"highlight"}]"#)
        },
        Row(
            "POST v3/pushers/set",
            #"{"pushkey":"k","kind":"http","app_id":"a","app_display_name":"n","device_display_name":"d","profile_tag":"p","lang":"en","data":{"url":"https://g/_matrix/push/v1/notify"},"append":false,"enabled":true}"#
        ) {
            try await $0.setPusher(
                pushKey: "k", kind: .http, appId: "a", appDisplayName: "n", deviceDisplayName: "d", profileTag: "p",
                lang: "en", data: ["url": "https://g/_matrix/push/v1/notify"], append: false)
        },
        Row(
            "POST v3/pushers/set",
            #"{"pushkey":"k","kind":null,"app_id":"a","app_display_name":"n","device_display_name":"d","profile_tag":"p","lang":"en","data":{},"append":false,"enabled":true}"#
        ) {
            try await $0.setPusher(
                pushKey: "k", kind: .none, appId: "a", appDisplayName: "n", deviceDisplayName: "d", profileTag: "p",
                lang: "en", data: [:], append: false)
        },
        Row("GET v3/notifications?from=f&limit=2&only=highlight") {
            _ = try await $0.notifications(from: "f", limit: 2, onlyHighlights: true)
        },
        Row(
            "POST v3/search?next_batch=n",
            #"{"search_categories":{"room_events":{"search_term":"x","keys":["content.body"],"filter":{"rooms":["!r"],"limit":3},"order_by":"rank","event_context":{"before_limit":1,"after_limit":2,"include_profile":true}}}}"#
        ) {
            let found = try await $0.searchMessages(
                "x", inRooms: ["!r"], limit: 3, before: 1, after: 2, byRank: true, nextBatch: "n")
            #expect(found.count == 1 && found.results.map(\.event.eventId) == ["$c"])
            let profile = try #require(found.results.first?.profiles["@b:s"])
            #expect(profile.displayName == "B" && profile.avatarUrl == "mxc://s/b")
        },
        Row("POST v3/user_directory/search", #"{"search_term":"x"}"#) {
            let got = try await $0.searchUsers("x").results.map(\.userId)
            #expect(got == ["@b:s"])
        },
    ]

    private static let answer = FakeAnswer.json(
        #"""
        {"room_id":"!r","event_id":"$e","origin_server_ts":1,"replacement_room":"!n","filter_id":"0","end":"end",
         "next_batch":"next","chunk":[{"type":"m.x","event_id":"$c","content":{},"room_id":"!r","num_joined_members":1,
         "world_readable":false,"guest_can_join":false}],"event":{"type":"m.x","event_id":"$c","content":{}},
         "results":[{"user_id":"@b:s"}],"limited":false,"notifications":[],"search_categories":{"room_events":{
         "count":1,"results":[{"rank":1,"result":{"type":"m.x","event_id":"$c","content":{}},
         "context":{"profile_info":{"@b:s":{"displayname":"B","avatar_url":"mxc://s/b"}}}}]}}}
        """#)

    @Test(arguments: rooms + messages + account) func aCallAsksForWhatTheSpecificationSays(row: Row) async throws {
        let server = try await FakeHomeserver.start()
        for method in ["GET", "PUT", "POST", "DELETE"] { server.on(method, "/_matrix/**", Self.answer) }
        server.hasPlainRooms()
        try await row.call(MXRestClient.make(server))
        let request = try #require(server.requestsProper.first)
        #expect(server.requestsProper.count == 1 && request.token == "token")
        let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let path = request.path.dropFirst(2).joined(separator: "/")
        #expect("\(request.method) \(path)\(query.isEmpty ? "" : "?" + query)" == row.target)
        if row.body.isEmpty {
            #expect(request.body.isEmpty && request.field("Content-Type") == nil)
        } else {
            let expected = JSONView(Array(row.body.utf8))?.foundation as? NSDictionary
            #expect(request.json?.foundation as? NSDictionary == expected && expected != nil)
            #expect(request.field("Content-Type") == "application/json")
        }
    }

    /// A whole create event, its content from an older server, one of a space, and a room without levels.
    @Test(arguments: [
        (
            #"{"type":"m.room.create","state_key":"","sender":"@a:s","content":{"room_version":"12"}}"#,
            #"{"users":{"@b:s":50}}"#, ["@a:s": MXRoomPowerLevels.creatorLevel, "@b:s": 50, "@c:s": 0]
        ),
        (
            #"{"room_version":"11","type":"m.space"}"#, #"{"users":{"@a:s":100},"users_default":5}"#,
            ["@a:s": 100, "@c:s": 5]
        ),
        (#"{"creator":"@a:s"}"#, nil, ["@a:s": 100, "@c:s": 0]),
    ])
    func powerLevelsAreThoseOfTheRoom(create: String, content: String?, levels: [String: Int]) async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/rooms/*/state/m.room.create", .json(create))
        server.on(
            "GET", "v3/rooms/*/state/m.room.power_levels", content.map { .json($0) } ?? .error(404, "M_NOT_FOUND"))
        let found = try await MXRestClient.make(server).powerLevels(ofRoom: "!r")
        for (user, level) in levels { #expect(found.powerLevelOfUser(withUserID: user) == level) }
        #expect(server.requests("GET", "v3/rooms/*/state/m.room.create").first?.parameter("format") == "event")
    }

    @Test func aMutedRoomHasAnOverrideOfItsName() async throws {
        let server = try await FakeHomeserver.start()
        for method in ["PUT", "DELETE"] { server.on(method, "v3/pushrules/**", .ok) }
        let client = MXRestClient.make(server)
        try await client.muteRoom("!r")
        try await client.unmuteRoom("!r")
        #expect(
            server.requests.map { "\($0.method) \($0.path.dropFirst(3).joined(separator: "/"))" } == [
                "PUT pushrules/global/override/!r", "PUT pushrules/global/override/!r/enabled",
                "DELETE pushrules/global/override/!r",
            ])
        let rule = #"{"actions":[],"conditions":[{"kind":"event_match","key":"room_id","pattern":"!r"}]}"#
        let expected = JSONView(Array(rule.utf8))?.foundation as? NSDictionary
        #expect(server.requests.first?.json?.foundation as? NSDictionary == expected && expected != nil)
        #expect(server.requests[1].json?["enabled"]?.bool == true)
        server.on("DELETE", "v3/pushrules/**", .error(404, "M_NOT_FOUND"))
        try await client.unmuteRoom("!r")
        server.on("DELETE", "v3/pushrules/**", .error(403, "M_FORBIDDEN"))
        await #expect(throws: MXError.self) { try await client.unmuteRoom("!r") }
    }

    @Test func dataThatIsNotThereIsNil() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/user/*/account_data/*", .error(404, "M_NOT_FOUND"))
        #expect(try await MXRestClient.make(server).accountData(ofType: "m.x") == nil)
    }

    @Test func whatPeersMadeOfEventsIsLeftOut() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/rooms/*/state", .json(#"[1,{"type":5},{"type":"m.x","state_key":"","content":{}},null]"#))
        #expect(try await MXRestClient.make(server).state(ofRoom: "!r").map(\.type) == ["m.x"])
    }
}
