import Basics
package import EncryptionTestSupport
package import JSONBytes
package import MatrixEncryption

/// A homeserver with rooms and with the keys of all devices, which lies where a test wants it to.
///
/// One client connects over the network: its requests count as those of its device. The other devices are
/// ``TestDevice``s in the ``World``, which one lock guards.
package final class LyingHomeserver: Sendable {
    package static let client = DeviceAddress("@a:s", "DEVICE")

    package struct World {
        package let keys = KeyServer()
        /// A member whose identity has signed this device.
        package let bob: TestDevice
        /// In no room until a test adds her.
        package let eve: TestDevice
        /// More devices, added by a test.
        package var others: [TestDevice] = []
        /// Events for the client's rooms, in order.
        package var events: [(roomId: String, json: JSONView)] = []
        /// Whether the client is notified of changed devices.
        package var tellsChanges = true
        /// The number of one-time keys reported to the client, whatever the real one.
        package var saidKeyCount: Int?
        /// Whether timelines are limited: of several events in a room the client gets the last one, a gap, and the
        /// resulting state.
        package var cutsTimelines = false
        /// Types of state hidden from the client.
        package var hiddenState: Set<String> = []
        /// The code with which messages to devices are refused.
        package var toDeviceRefusal: String?
        /// The delay of each answer about keys.
        package var delay: Duration = .zero
        /// Replaces the backup at the next request for all its keys, which is refused.
        package var swapsBackupOnDownload: JSONView?
        /// By its type, as set with `PUT`.
        package var accountData: [String: JSONView] = [:]
        /// Room keys that were uploaded as files, by ID.
        package var media: [String: [UInt8]] = [:]
        /// The client's invitations, by room, with their senders; each sync repeats them.
        package var invitations: [String: String] = [:]
        /// Tokens of earlier streams are unknown.
        package var stream = 0
        private var lastEvent = 0

        init() throws {
            bob = try TestDevice("@b:s", "BOB", on: keys)
            eve = try TestDevice("@e:s", "EVE", on: keys)
            try bob.makeIdentity()
            keys.addDevice(client)
            for device in [bob, eve] { try device.encryptRoom("!r:s") }
        }
    }

    package let server: FakeHomeserver
    private let world: Lock<World>

    /// - Parameter server: Answers requests that have no route here.
    package init(on server: FakeHomeserver) throws {
        self.server = server
        let world = Lock(try World())
        self.world = world
        server.on("GET", "v3/sync") { request in world.withLock { $0.sync(since: request.parameter("since")) } }
        server.on("GET", "v3/rooms/*/members") { request in world.withLock { $0.members(of: request.path[4]) } }
        server.on("GET", "v3/rooms/*/state/m.room.encryption") { request in
            world.withLock { $0.encryption(of: request.path[4]) }
        }
        server.on("GET", "v3/rooms/*/event/*") { request in world.withLock { $0.event(request.path[6]) } }
        server.on("PUT", "v3/rooms/*/send/*/*") { request in world.withLock { $0.send(request) } }
        server.on("POST", "v3/keys/device_signing/upload") { request in
            world.withLock { $0.keys.uploadIdentity(request.json ?? .nothing, of: Self.client.user) }
            return .ok
        }
        server.on("GET", "v3/user/*/account_data/*") { request in
            world.withLock {
                $0.accountData[request.path[6]].map { .json($0.compactText) } ?? .error(404, "M_NOT_FOUND")
            }
        }
        server.on("PUT", "v3/user/*/account_data/*") { request in
            world.withLock { $0.accountData[request.path[6]] = request.json }
            return .ok
        }
        server.on("GET", "versions", .json(#"{"versions":["v1.11","v1.18"]}"#))
        server.on("GET", "v1/media/config", .ok)
        server.on("POST", "/_matrix/media/v3/upload") { request in
            world.withLock { world in
                let id = "m\(world.media.count)"
                world.media[id] = request.body
                return .json(#"{"content_uri":"mxc://s/\#(id)"}"#)
            }
        }
        server.on("GET", "v1/media/download/s/*") { request in
            world.withLock { $0.media[request.path[6]].map { FakeAnswer(body: $0) } ?? .error(404, "M_NOT_FOUND") }
        }
        server.on("POST", "v3/rooms/*/invite", .ok)
        let calls: [(method: String, path: String, call: @Sendable (FakeRequest) -> CryptoRequest.Call)] = [
            ("POST", "v3/keys/upload", { _ in .uploadKeys }), ("POST", "v3/keys/query", { _ in .queryKeys(users: []) }),
            ("POST", "v3/keys/claim", { _ in .claimKeys([]) }),
            ("POST", "v3/keys/signatures/upload", { _ in .uploadSignatures }),
            ("PUT", "v3/sendToDevice/*/*", { .sendToDevice(type: $0.path[4], transactionId: $0.path[5]) }),
            ("GET", "v3/room_keys/version", { _ in .checkBackup }),
            ("POST", "v3/room_keys/version", { _ in .makeBackup }),
            ("DELETE", "v3/room_keys/version/*", { .deleteBackup(version: $0.path[5]) }),
            ("PUT", "v3/room_keys/keys", { .uploadRoomKeys(version: $0.parameter("version") ?? "") }),
            ("GET", "v3/room_keys/keys", { .downloadRoomKeys(version: $0.parameter("version") ?? "") }),
        ]
        for (method, path, call) in calls {
            server.on(method, path) { request in world.withLock { $0.answer(call(request), request).after($0.delay) } }
        }
    }

    /// Whether the client's identity has signed its device, which others see in the keys.
    package var hasSignatureOfClient: Bool {
        world.withLock { world in
            let signatures = world.keys.devices[Self.client]?.keys?["signatures"]?[Self.client.user]
            return (signatures?.members.count ?? 0) > 1
        }
    }

    /// Types of the pending messages for a device.
    package func types(to address: DeviceAddress) -> [String] {
        world.withLock { $0.keys.messages(to: address).compactMap { $0["type"]?.string } }
    }

    /// Reads or changes the world.
    package func with<Value>(_ body: (inout World) throws -> sending Value) throws -> sending Value {
        try world.withLock { world in try body(&world) }
    }
}

// MARK: Rooms

extension LyingHomeserver.World {
    /// Sends an event to the client, true or not.
    ///
    /// - Returns: Its ID.
    @discardableResult
    package mutating func tell(
        _ type: String, from sender: String, _ content: JSONView, in roomId: String = "!r:s", stateKey: String? = nil,
        id: String? = nil, unsigned: JSONView? = nil
    ) -> String {
        lastEvent += 1
        let id = id ?? "$\(lastEvent)"
        let event = object { writer in
            writer.add("type", type)
            writer.add("event_id", id)
            writer.add("sender", sender)
            writer.add("origin_server_ts", json: "\(1_700_000_000_000 + lastEvent)")
            if let stateKey { writer.add("state_key", stateKey) }
            writer.add("content", content)
            if let unsigned { writer.add("unsigned", unsigned) }
        }
        events.append((roomId, event))
        return id
    }

    package mutating func setMember(_ user: String, _ membership: String = "join", in roomId: String = "!r:s") {
        tell("m.room.member", from: user, object { $0.add("membership", membership) }, in: roomId, stateKey: user)
    }

    package mutating func setEncryption(_ content: JSONView? = nil, in roomId: String = "!r:s") {
        let content = content ?? object { $0.add("algorithm", Algorithm.megolm) }
        tell("m.room.encryption", from: "@b:s", content, in: roomId, stateKey: "")
    }

    /// Encrypts a message from another member.
    ///
    /// - Returns: The event as the server has it. Send it to the client with ``tell(_:)``.
    package func say(
        _ text: String, by device: TestDevice, to members: [String] = ["@a:s", "@b:s"], content: JSONView? = nil
    ) throws -> EncryptedEvent {
        try device.sync()
        let room = RoomToEncrypt(roomId: "!r:s", members: members, isSharedHistory: true)
        return try device.send(text, to: room, content: content)
    }

    @discardableResult
    package mutating func tell(
        _ event: EncryptedEvent, from sender: String? = nil, in roomId: String? = nil, id: String? = nil,
        stateKey: String? = nil
    ) -> String {
        tell(
            "m.room.encrypted", from: sender ?? event.sender, event.content, in: roomId ?? event.roomId,
            stateKey: stateKey, id: id ?? event.eventId)
    }

    /// An event as the server shows it to other devices.
    package func encrypted(_ eventId: String) -> EncryptedEvent? {
        guard let (roomId, json) = events.last(where: { $0.json["event_id"]?.string == eventId }) else { return nil }
        return EncryptedEvent(
            roomId: roomId, eventId: eventId, sender: json["sender"]?.string ?? "", time: 1,
            isState: json["state_key"] != nil, content: json["content"] ?? .nothing)
    }

    fileprivate mutating func send(_ request: FakeRequest) -> FakeAnswer {
        let (roomId, type, transaction) = (request.path[4], request.path[6], request.path[7])
        let id = "$sent-" + transaction
        if !events.contains(where: { $0.json["event_id"]?.string == id }) {
            tell(
                type, from: LyingHomeserver.client.user, request.json ?? .nothing, in: roomId, id: id,
                unsigned: object { $0.add("transaction_id", transaction) })
        }
        return .json(#"{"event_id":"\#(id)"}"#)
    }

    private func state(of roomId: String) -> [JSONView] {
        state(within: events.filter { $0.roomId == roomId }.map(\.json))
    }

    private func state(within events: some Sequence<JSONView>) -> [JSONView] {
        var state: [String: JSONView] = [:]
        var keys: [String] = []
        for json in events {
            guard let type = json["type"]?.string, let key = json["state_key"]?.string, !hiddenState.contains(type)
            else { continue }
            if state.updateValue(json, forKey: type + "\n" + key) == nil { keys.append(type + "\n" + key) }
        }
        return keys.compactMap { state[$0] }
    }

    fileprivate func members(of roomId: String) -> FakeAnswer {
        let members = state(of: roomId).filter { $0["type"]?.string == "m.room.member" }
        return .json(#"{"chunk":\#(Self.list(members))}"#)
    }

    fileprivate func encryption(of roomId: String) -> FakeAnswer {
        let event = state(of: roomId).last { $0["type"]?.string == "m.room.encryption" }
        return (event?["content"]).map { .json($0.compactText) } ?? .error(404, "M_NOT_FOUND")
    }

    fileprivate func event(_ id: String) -> FakeAnswer {
        let event = events.last { $0.json["event_id"]?.string == id }
        return event.map { .json($0.json.compactText) } ?? .error(404, "M_NOT_FOUND")
    }

    private static func list(_ events: [JSONView]) -> String {
        "[" + events.map(\.compactText).joined(separator: ",") + "]"
    }

    // MARK: Syncs

    fileprivate func sync(since text: String?) -> FakeAnswer {
        let client = LyingHomeserver.client
        let numbers = (text ?? "").split(separator: "_").compactMap { Int($0) }
        if text != nil, numbers.first != stream { return .unknownSyncToken }
        let since = numbers.count == 4 ? numbers : [stream, 0, 0, keys.now(of: client).changes]
        let news = keys.sync(client, since: .init(messages: since[2], changes: since[3]))
        let next = keys.now(of: client)
        let told = events.dropFirst(since[1])
        let rooms = Set(told.map(\.roomId)).sorted().map { roomId in
            let timeline = told.filter { $0.roomId == roomId }.map(\.json).filter {
                (text != nil || $0["state_key"] == nil) && !hiddenState.contains($0["type"]?.string ?? "")
            }
            let shown = cutsTimelines ? Array(timeline.suffix(1)) : timeline
            let gap = timeline.count > shown.count ? state(within: timeline.dropLast(shown.count)) : []
            let state = text == nil ? state(of: roomId) : gap
            return
                #"""
                "\#(roomId)":{"state":{"events":\#(Self.list(state))},
                "timeline":{"events":\#(Self.list(shown)),"limited":\#(shown.count < timeline.count),"prev_batch":"p"}}
                """#
        }
        let invited = invitations.sorted { $0.key < $1.key }.map { roomId, inviter in
            #"""
            "\#(roomId)":{"invite_state":{"events":[{"type":"m.room.member","sender":"\#(inviter)",
            "state_key":"\#(client.user)","content":{"membership":"invite"}}]}}
            """#
        }
        let changed = tellsChanges ? news.changed.map { "\"\($0)\"" } : []
        let answer = FakeAnswer.json(
            #"""
            {"next_batch":"\#(stream)_\#(events.count)_\#(next.messages)_\#(next.changes)",
            "rooms":{"join":{\#(rooms.joined(separator: ","))},"invite":{\#(invited.joined(separator: ","))}},"to_device":{"events":\#(Self.list(news.toDevice))},
            "device_lists":{"changed":[\#(changed.joined(separator: ","))],"left":[]},
            "device_one_time_keys_count":{"signed_curve25519":\#(saidKeyCount ?? news.oneTimeKeyCount ?? 0)},
            "device_unused_fallback_key_types":["\#((news.unusedFallbackKeys ?? []).joined())"]}
            """#)
        let isNews = !told.isEmpty || !news.toDevice.isEmpty || !changed.isEmpty || text == nil
        return isNews ? answer : answer.after(.milliseconds(15))
    }

    // MARK: Keys

    fileprivate mutating func answer(_ call: CryptoRequest.Call, _ request: FakeRequest) -> FakeAnswer {
        if case .downloadRoomKeys = call, let backup = swapsBackupOnDownload {
            swapsBackupOnDownload = nil
            keys.backups.add(backup)
        }
        if case .sendToDevice = call, let toDeviceRefusal { return .error(403, toDeviceRefusal) }
        do {
            let body = String(decoding: request.body, as: UTF8.self)
            return .json(
                try keys.answer(KeyServer.Request(call: call, body: body), from: LyingHomeserver.client).compactText)
        } catch let refusal as ServerRefusal {
            return .error(refusal.code == "M_NOT_FOUND" ? 404 : 403, refusal.code)
        } catch {
            return .error(500, "M_UNKNOWN")
        }
    }
}
