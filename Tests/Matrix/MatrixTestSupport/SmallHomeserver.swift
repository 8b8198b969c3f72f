import Basics
import Foundation

/// A homeserver with accounts and rooms that it remembers: users' actions appear in each other's syncs. It has what
/// programs need to talk to each other, without encryption and federation.
package final class SmallHomeserver: Sendable {
    package let server: FakeHomeserver
    private let state = Lock(State())

    package static func start() async throws -> SmallHomeserver {
        SmallHomeserver(try await FakeHomeserver.start())
    }

    private init(_ server: FakeHomeserver) {
        self.server = server
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v1/media/config", .ok)
        server.on("GET", "v3/login", .json(#"{"flows":[{"type":"m.login.password"}]}"#))
        on("POST", "v3/register", needsUser: false) { $0.register($1) }
        on("POST", "v3/login", needsUser: false) { $0.logIn($1) }
        on("GET", "v3/publicRooms", needsUser: false) { state, _ in state.publicRooms() }
        on("POST", "v3/publicRooms", needsUser: false) { state, _ in state.publicRooms() }
        on("GET", "v3/account/whoami") { ["user_id": $1.user, "device_id": $0.devices[$1.token] ?? ""] }
        on("POST", "v3/logout") { state, call in
            state.users[call.token] = nil
            return [:]
        }
        on("GET", "v3/sync") { $0.sync($1) }
        on("POST", "v3/createRoom") { $0.createRoom($1) }
        for path in ["v3/join/*", "v3/rooms/*/join"] {
            on("POST", path) { state, call in
                let roomId = call.path[4]
                return state.setMember(call.user, "join", by: call.user, in: roomId, ["room_id": roomId])
            }
        }
        on("POST", "v3/rooms/*/leave") { $0.setMember($1.user, "leave", by: $1.user, in: $1.path[4]) }
        for (path, membership) in [("invite", "invite"), ("kick", "leave")] {
            on("POST", "v3/rooms/*/" + path) { state, call in
                state.setMember(call.text("user_id"), membership, by: call.user, in: call.path[4])
            }
        }
        on("PUT", "v3/rooms/*/send/*/*") { $0.send($1) }
        on("PUT", "v3/rooms/*/redact/*/*") { $0.redact($1) }
        on("GET", "v3/rooms/*/messages") { $0.messages($1) }
        on("GET", "v3/rooms/*/members") { state, call in
            ["chunk": state.rooms[call.path[4]]?.state.filter { $0["type"] as? String == "m.room.member" } ?? []]
        }
        on("GET", "v3/rooms/*/event/*") { state, call in
            state.rooms[call.path[4]]?.events.first { $0.id == call.path[6] }?.json
        }
        on("GET", "v3/rooms/*/state/*") { state, call in
            state.rooms[call.path[4]]?.stateEvent(call.path[6])?["content"] as? [String: Any]
        }
        on("PUT", "v3/rooms/*/typing/*") { state, call in
            state.setTyping(call)
            return [:]
        }
        on("POST", "v3/rooms/*/receipt/*/*") { $0.read($1, upTo: $1.path[7]) }
        on("POST", "v3/rooms/*/read_markers") { $0.read($1, upTo: $1.text("m.read")) }
        on("GET", "v3/user/*/account_data/*") { $0.accountData[$1.user]?[$1.path[6]]?.content }
        on("PUT", "v3/user/*/account_data/*") { state, call in
            state.position += 1
            state.accountData[call.user, default: [:]][call.path[6]] = (call.body, state.position)
            return [:]
        }
        on("POST", "/_matrix/media/v3/upload") { state, _ in
            state.position += 1
            return ["content_uri": "mxc://small/\(state.position)"]
        }
        on("GET", "v3/pushers") { ["pushers": Array(($0.pushers[$1.user] ?? [:]).values)] }
        on("POST", "v3/pushers/set") { state, call in
            let isRemoved = !(call.body["kind"] is String)
            state.pushers[call.user, default: [:]][call.text("pushkey")] = isRemoved ? nil : call.body
            return [:]
        }
    }

    /// - Parameter answer: Returns `nil` if there is no such thing.
    private func on(
        _ method: String, _ path: String, needsUser: Bool = true,
        _ answer: @escaping @Sendable (inout State, Call) -> [String: Any]?
    ) {
        server.on(method, path) { [state] request in
            state.withLock { state in
                var call = Call(request)
                if needsUser {
                    guard let user = state.users[call.token] else { return .unknownToken(softLogout: false) }
                    call.user = user
                }
                guard let object = answer(&state, call), let json = try? JSONSerialization.data(withJSONObject: object)
                else { return .error(404, "M_NOT_FOUND") }
                var answer = FakeAnswer(status: object["flows"] == nil ? 200 : 401, body: Array(json))
                if object["is_waiting"] != nil { answer.delay = .milliseconds(20) }
                return answer
            }
        }
    }
}

/// A request and its user.
private struct Call {
    let path: [String]
    let query: [String: String]
    let body: [String: Any]
    let token: String
    var user = ""

    init(_ request: FakeRequest) {
        path = request.path
        query = Dictionary(request.query.map { ($0.name, $0.value) }) { $1 }
        body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any] ?? [:]
        token = request.token ?? ""
    }

    func text(_ name: String) -> String { body[name] as? String ?? "" }
}

private struct Event {
    var json: [String: Any]
    let position: Int

    var id: String { json["event_id"] as? String ?? "" }
    var sender: String { json["sender"] as? String ?? "" }
    var isMessage: Bool { json["type"] as? String == "m.room.message" }
}

private struct Room {
    var events: [Event] = []
    var isPublic = false
    var typing: [String] = []
    var typingPosition = 0
    /// Each user's read position.
    var reads: [String: Int] = [:]

    var state: [[String: Any]] { state(before: .max) }

    /// The newest event of each type and key before a position.
    func state(before position: Int) -> [[String: Any]] {
        var places: [[String]: Int] = [:]
        for (index, event) in events.enumerated() where event.position < position {
            guard let type = event.json["type"] as? String, let key = event.json["state_key"] as? String else {
                continue
            }
            places[[type, key]] = index
        }
        return places.values.sorted().map { events[$0].json }
    }

    func stateEvent(_ type: String) -> [String: Any]? { state.last { $0["type"] as? String == type } }

    /// The newest event about a user's membership.
    func member(_ user: String) -> Event? {
        events.last { $0.json["type"] as? String == "m.room.member" && $0.json["state_key"] as? String == user }
    }

    func membership(of user: String) -> String {
        (member(user)?.json["content"] as? [String: Any])?["membership"] as? String ?? "leave"
    }

    func unread(by user: String) -> Int {
        let from = max(reads[user] ?? 0, events.last { $0.sender == user && $0.isMessage }?.position ?? 0)
        return events.count { $0.isMessage && $0.sender != user && $0.position > from }
    }
}

private struct State {
    /// By the access token.
    var users: [String: String] = [:]
    var devices: [String: String] = [:]
    var passwords: [String: String] = [:]
    var rooms: [String: Room] = [:]
    var accountData: [String: [String: (content: [String: Any], position: Int)]] = [:]
    var pushers: [String: [String: [String: Any]]] = [:]
    /// By user and transaction.
    var sent: [[String]: String] = [:]
    /// Every item in a sync has one.
    var position = 0

    // MARK: Accounts

    mutating func register(_ call: Call) -> [String: Any]? {
        guard call.body["auth"] != nil else {
            return ["session": "s", "flows": [["stages": ["m.login.dummy"]]], "params": [:] as [String: Any]]
        }
        passwords["@\(call.text("username")):small"] = call.text("password")
        return newLogin("@\(call.text("username")):small")
    }

    mutating func logIn(_ call: Call) -> [String: Any]? {
        let name = (call.body["identifier"] as? [String: Any])?["user"] as? String ?? ""
        let user = name.hasPrefix("@") ? name : "@\(name):small"
        guard passwords[user] == call.text("password") else { return nil }
        return newLogin(user)
    }

    private mutating func newLogin(_ user: String) -> [String: Any] {
        let token = "token-\(users.count)-\(position)-\(user)"
        (users[token], devices[token]) = (user, "DEVICE\(devices.count)")
        return ["user_id": user, "access_token": token, "device_id": devices[token] ?? ""]
    }

    // MARK: Rooms

    func publicRooms() -> [String: Any] {
        let chunk = rooms.filter(\.value.isPublic).map { roomId, room -> [String: Any] in
            [
                "room_id": roomId, "num_joined_members": 1, "world_readable": false, "guest_can_join": false,
                "name": (room.stateEvent("m.room.name")?["content"] as? [String: Any])?["name"] as? String ?? "",
            ]
        }
        return ["chunk": chunk]
    }

    @discardableResult
    mutating func add(
        _ type: String, _ content: [String: Any], by sender: String, in roomId: String, key: String? = nil,
        _ more: [String: Any] = [:]
    ) -> String {
        position += 1
        var json: [String: Any] = [
            "type": type, "content": content, "sender": sender, "event_id": "$\(position)",
            "origin_server_ts": 1_700_000_000_000 + position,
        ]
        json["state_key"] = key
        json.merge(more) { $1 }
        rooms[roomId, default: Room()].events.append(Event(json: json, position: position))
        return "$\(position)"
    }

    mutating func createRoom(_ call: Call) -> [String: Any]? {
        position += 1
        let roomId = "!\(position):small"
        add("m.room.create", ["room_version": "10"], by: call.user, in: roomId, key: "")
        setMember(call.user, "join", by: call.user, in: roomId)
        add("m.room.power_levels", ["users": [call.user: 100]], by: call.user, in: roomId, key: "")
        rooms[roomId]?.isPublic = call.text("visibility") == "public"
        for event in call.body["initial_state"] as? [[String: Any]] ?? [] {
            add(
                event["type"] as? String ?? "", event["content"] as? [String: Any] ?? [:], by: call.user, in: roomId,
                key: event["state_key"] as? String ?? "")
        }
        if let name = call.body["name"] as? String {
            add("m.room.name", ["name": name], by: call.user, in: roomId, key: "")
        }
        for user in call.body["invite"] as? [String] ?? [] {
            setMember(user, "invite", by: call.user, in: roomId, isDirect: call.body["is_direct"] as? Bool == true)
        }
        return ["room_id": roomId]
    }

    @discardableResult
    mutating func setMember(
        _ user: String, _ membership: String, by sender: String, in roomId: String, isDirect: Bool = false,
        _ answer: [String: Any] = [:]
    ) -> [String: Any]? {
        var content: [String: Any] = ["membership": membership]
        if isDirect { content["is_direct"] = true }
        add("m.room.member", content, by: sender, in: roomId, key: user)
        return answer
    }

    mutating func send(_ call: Call) -> [String: Any]? {
        let place = [call.user, call.path[7]]
        let id =
            sent[place]
            ?? add(
                call.path[6], call.body, by: call.user, in: call.path[4],
                ["unsigned": ["transaction_id": call.path[7]]])
        sent[place] = id
        return ["event_id": id]
    }

    mutating func redact(_ call: Call) -> [String: Any]? {
        let target = call.path[6]
        let id = add(
            "m.room.redaction", call.body.merging(["redacts": target]) { $1 }, by: call.user, in: call.path[4],
            ["redacts": target])
        if let index = rooms[call.path[4]]?.events.firstIndex(where: { $0.id == target }) {
            rooms[call.path[4]]?.events[index].json["content"] = [:] as [String: Any]
            rooms[call.path[4]]?.events[index].json["unsigned"] = ["redacted_because": ["event_id": id]]
        }
        return ["event_id": id]
    }

    func messages(_ call: Call) -> [String: Any]? {
        guard let room = rooms[call.path[4]] else { return nil }
        let from = call.query["from"].flatMap { Int($0) } ?? .max
        let page = room.events.filter { $0.position < from }.suffix(call.query["limit"].flatMap { Int($0) } ?? 10)
        var answer: [String: Any] = ["start": "\(from)", "chunk": page.reversed().map(\.json)]
        if let first = page.first, first.position != room.events.first?.position { answer["end"] = "\(first.position)" }
        return answer
    }

    mutating func setTyping(_ call: Call) {
        position += 1
        let isTyping = call.body["typing"] as? Bool == true
        rooms[call.path[4]]?.typing.removeAll { $0 == call.user }
        if isTyping { rooms[call.path[4]]?.typing.append(call.user) }
        rooms[call.path[4]]?.typingPosition = position
    }

    mutating func read(_ call: Call, upTo eventId: String) -> [String: Any]? {
        guard let event = rooms[call.path[4]]?.events.first(where: { $0.id == eventId }) else { return [:] }
        rooms[call.path[4]]?.reads[call.user] = event.position
        position += 1
        return [:]
    }

    // MARK: Sync

    func sync(_ call: Call) -> [String: Any]? {
        let since = call.query["since"].flatMap { Int($0) }
        let start = since ?? 0
        var (join, invite, leave): ([String: Any], [String: Any], [String: Any]) = ([:], [:], [:])
        for (roomId, room) in rooms {
            guard let member = room.member(call.user) else { continue }
            let new = room.events.filter { $0.position > start }
            switch room.membership(of: call.user) {
            case "join":
                let isTyping = room.typingPosition > start
                guard !new.isEmpty || isTyping || position > start else { continue }
                join[roomId] = joined(room, by: call.user, new, isFirst: member.position > start, isTyping)
            case "invite" where member.position > start:
                invite[roomId] = ["invite_state": ["events": room.state]]
            case "leave" where member.position > start && since != nil:
                let timeline = new.filter { $0.position <= member.position }.map(\.json)
                leave[roomId] = ["timeline": ["events": timeline, "limited": false], "state": ["events": [] as [Any]]]
            default: continue
            }
        }
        let data = (accountData[call.user] ?? [:]).filter { $0.value.position > start }
            .map { ["type": $0.key, "content": $0.value.content] as [String: Any] }
        var answer: [String: Any] = [
            "next_batch": "\(position)", "rooms": ["join": join, "invite": invite, "leave": leave],
            "account_data": ["events": data],
        ]
        if since == position { answer["is_waiting"] = true }
        return answer
    }

    private func joined(
        _ room: Room, by user: String, _ new: [Event], isFirst: Bool, _ isTyping: Bool
    ) -> [String: Any] {
        let timeline = isFirst ? room.events.suffix(10) : new[...]
        let first = timeline.first?.position ?? .max
        let state: [[String: Any]] = isFirst ? room.state(before: first) : []
        let typing: [[String: Any]] = isTyping ? [["type": "m.typing", "content": ["user_ids": room.typing]]] : []
        return [
            "state": ["events": state],
            "timeline": [
                "events": timeline.map(\.json), "limited": isFirst && first != room.events.first?.position,
                "prev_batch": "\(first == .max ? position : first)",
            ] as [String: Any],
            "ephemeral": ["events": typing],
            "unread_notifications": ["notification_count": room.unread(by: user), "highlight_count": 0],
        ]
    }
}
