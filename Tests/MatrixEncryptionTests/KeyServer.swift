import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

/// The part of a homeserver that keeps keys and carries messages to devices, as Synapse does it.
final class KeyServer {
    struct Device {
        var keys: JSONView?
        var oneTimeKeys: [(id: String, key: JSONView)] = []
        var fallbackKey: (id: String, key: JSONView)?
        var isFallbackUsed = true
        var messages: [JSONView] = []
        var transactions: Set<String> = []
    }

    var devices: [DeviceAddress: Device] = [:]
    /// By user and section: `master_keys` and its siblings.
    var identities: [String: [String: JSONView]] = [:]
    /// Master keys with the signature that a user has made for himself to see: by user and signed user.
    var signatures: [String: [String: JSONView]] = [:]
    /// Users whose devices have changed, as each device is told once.
    private var changes: [DeviceAddress: [String]] = [:]
    /// Does to an answer what a hostile server does.
    var tamper: (CryptoRequest, JSONView) -> JSONView = { $1 }
    /// Servers that answer nothing.
    var failures: Set<String> = []
    private(set) var requests: [CryptoRequest] = []
    var backups = ServerBackups()
    /// An event of a room, in clear.
    struct RoomEvent {
        let sender: DeviceAddress
        let roomId: String
        let eventId: String
        let type: String
        var content: JSONView
    }

    var timeline: [RoomEvent] = []

    func addDevice(_ address: DeviceAddress) {
        devices[address] = Device()
        changes[address] = []
    }

    func removeDevice(_ address: DeviceAddress) {
        devices[address] = nil
        noteChange(of: address.user)
    }

    func noteChange(of user: String) { for address in changes.keys { changes[address]?.append(user) } }

    /// Loses all one-time keys of a device, and its fallback key.
    func loseKeys(of address: DeviceAddress) {
        devices[address]?.oneTimeKeys = []
        devices[address]?.fallbackKey = nil
    }

    /// Puts something among the messages to a device.
    func inject(_ message: JSONView, to address: DeviceAddress) { devices[address]?.messages.append(message) }

    func messages(to address: DeviceAddress) -> [JSONView] { devices[address]?.messages ?? [] }

    /// What a sync brings; once.
    func sync(_ address: DeviceAddress) -> CryptoSync {
        var sync = CryptoSync()
        guard var device = devices[address] else { return sync }
        (sync.toDevice, device.messages) = (device.messages, [])
        devices[address] = device
        (sync.changed, changes[address]) = (changes[address] ?? [], [])
        sync.oneTimeKeyCount = device.oneTimeKeys.count
        sync.unusedFallbackKeys = device.isFallbackUsed ? [] : ["signed_curve25519"]
        return sync
    }

    func oneTimeKeyCount(of address: DeviceAddress) -> Int { devices[address]?.oneTimeKeys.count ?? 0 }

    func answer(_ request: CryptoRequest, from address: DeviceAddress) throws -> JSONView {
        requests.append(request)
        let body = request.body.isEmpty ? .nothing : try #require(JSONView(Array(request.body.utf8)))
        let answer =
            switch request.call {
            case .uploadKeys: upload(body, from: address)
            case .queryKeys: query(body, from: address)
            case .claimKeys: claim(body)
            case .sendToDevice(let type, let id): deliver(type, id, body, from: address)
            case .uploadSignatures: sign(body, from: address)
            case .checkBackup, .makeBackup, .deleteBackup, .uploadRoomKeys, .downloadRoomKeys, .downloadRoomKey:
                try backups.answer(request.call, body)
            case .sendToRoom(let roomId, let type, let id): send(type, id, body, to: roomId, from: address)
            }
        return tamper(request, answer)
    }

    private func upload(_ body: JSONView, from address: DeviceAddress) -> JSONView {
        var device = devices[address] ?? Device()
        if let keys = body["device_keys"] {
            device.keys = keys
            noteChange(of: address.user)
        }
        for (id, key) in body["one_time_keys"]?.members ?? [] where !device.oneTimeKeys.contains(where: { $0.id == id })
        {
            device.oneTimeKeys.append((id, key))
        }
        if let (id, key) = body["fallback_keys"]?.members.first {
            (device.fallbackKey, device.isFallbackUsed) = ((id, key), false)
        }
        devices[address] = device
        return object { counts in
            counts.add(
                "one_time_key_counts", object { $0.add("signed_curve25519", json: "\(device.oneTimeKeys.count)") })
        }
    }

    private func query(_ body: JSONView, from address: DeviceAddress) -> JSONView {
        let users = (body["device_keys"]?.members ?? []).map(\.key)
        let asked = users.filter { !failures.contains(server(of: $0)) }
        return object { answer in
            answer.add(
                "device_keys",
                object { writer in
                    for user in asked {
                        writer.add(
                            user,
                            object { devices in
                                for (address, device) in self.devices where address.user == user {
                                    if let keys = device.keys { devices.add(address.device, keys) }
                                }
                            })
                    }
                })
            for section in ["master_keys", "self_signing_keys", "user_signing_keys"] {
                answer.add(
                    section,
                    object { writer in
                        for user in asked {
                            if let key = self.identity(section, of: user, for: address.user) {
                                writer.add(user, key)
                            }
                        }
                    })
            }
            let failing = Set(users.map { server(of: $0) }).intersection(self.failures)
            answer.add("failures", object { writer in for server in failing { writer.add(server, json: "{}") } })
        }
    }

    private func server(of user: String) -> String { String(user.drop { $0 != ":" }.dropFirst()) }

    private func claim(_ body: JSONView) -> JSONView {
        object { answer in
            answer.add(
                "one_time_keys",
                object { users in
                    for (user, devices) in body["one_time_keys"]?.members ?? [] {
                        users.add(
                            user,
                            object { keys in
                                for (device, _) in devices.members {
                                    guard let (id, key) = self.takeKey(of: DeviceAddress(user, device)) else {
                                        continue
                                    }
                                    keys.add(device, object { $0.add(id, key) })
                                }
                            })
                    }
                })
        }
    }

    private func takeKey(of address: DeviceAddress) -> (String, JSONView)? {
        guard var device = devices[address] else { return nil }
        defer { devices[address] = device }
        if !device.oneTimeKeys.isEmpty { return device.oneTimeKeys.removeFirst() }
        device.isFallbackUsed = true
        return device.fallbackKey
    }

    private func deliver(
        _ type: String, _ transactionId: String, _ body: JSONView, from address: DeviceAddress
    ) -> JSONView {
        guard devices[address]?.transactions.insert(transactionId).inserted == true else { return object { _ in } }
        for (user, messages) in body["messages"]?.members ?? [] {
            for (target, content) in messages.members {
                let message = object { writer in
                    writer.add("type", type)
                    writer.add("sender", address.user)
                    writer.add("content", content)
                }
                for address in devices.keys where address.user == user && ["*", address.device].contains(target) {
                    devices[address]?.messages.append(message)
                }
            }
        }
        return object { _ in }
    }

    private func send(
        _ type: String, _ transactionId: String, _ body: JSONView, to roomId: String, from address: DeviceAddress
    ) -> JSONView {
        let eventId = "$" + transactionId
        if devices[address]?.transactions.insert(transactionId).inserted == true {
            timeline.append(
                RoomEvent(sender: address, roomId: roomId, eventId: eventId, type: type, content: body))
        }
        return object { $0.add("event_id", eventId) }
    }
}

func object(_ body: (inout JSONWriter) -> Void) -> JSONView {
    var writer = JSONWriter()
    body(&writer)
    return writer.view
}

/// A machine with its records, on a ``KeyServer``.
final class TestDevice {
    let address: DeviceAddress
    let server: KeyServer
    private(set) var records = MemoryRecords()
    private(set) var machine: CryptoMachine
    private(set) var notices: [CryptoNotice] = []
    /// Milliseconds since 1970.
    var now: UInt64 = 1_700_000_000_000
    private var lastEvent = 0

    init(_ user: String, _ device: String, on server: KeyServer) throws {
        (address, self.server) = (DeviceAddress(user, device), server)
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
        server.addDevice(address)
        try sync()
    }

    /// Runs a step, and stores what comes of it.
    @discardableResult
    func turn<Value>(_ body: (inout CryptoMachine, inout CryptoTurn) throws -> Value) throws -> Value {
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        var machine = machine
        let value = try body(&machine, &turn)
        records.commit(turn.records.changes)
        self.machine = machine
        notices += turn.notices
        return value
    }

    /// The process ends, and begins again with what is stored.
    func restart() throws {
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
        notices += turn.notices
    }

    @discardableResult
    func takeNotices() -> [CryptoNotice] {
        defer { notices = [] }
        return notices
    }

    /// Sends what is to be sent, until nothing is.
    func pump() throws {
        for _ in 0..<2_000 {
            let requests = try turn { machine, turn in try machine.requests(&turn) }
            if requests.isEmpty { return }
            for request in requests {
                do {
                    let answer = try server.answer(request, from: address)
                    try turn { machine, turn in try machine.answered(request.id, answer, &turn) }
                } catch let refusal as ServerRefusal {
                    try turn { machine, turn in
                        try machine.failed(request.id, isFinal: refusal.isFinal, code: refusal.code, &turn)
                    }
                }
            }
        }
        Issue.record("the machine asks without end")
    }

    func sync() throws {
        now += 1
        let sync = server.sync(address)
        try turn { machine, turn in try machine.receive(sync, &turn) }
        try pump()
    }

    func encryptRoom(_ roomId: String, _ content: String = #"{"algorithm":"m.megolm.v1.aes-sha2"}"#) throws {
        let content = try #require(JSONView(Array(content.utf8)))
        try turn { machine, turn in try machine.noteEncryption(of: roomId, content, &turn) }
    }

    /// The event of a message that everybody in the room can read.
    func send(
        _ text: String, to room: RoomToEncrypt, type: String = "m.room.message", content: JSONView? = nil
    ) throws -> EncryptedEvent {
        for _ in 0..<10 {
            let readiness = try turn { machine, turn in try machine.prepare(room, hasWaited: false, &turn) }
            if readiness == .ready { break }
            try pump()
        }
        let content = content ?? object { $0.add("body", text) }
        lastEvent += 1
        let encrypted = try turn { machine, turn in try machine.encrypt(type, content, for: room.roomId, &turn) }
        try pump()  // those who get no key are told
        return EncryptedEvent(
            roomId: room.roomId, eventId: "$\(address.device)-\(lastEvent)", sender: address.user, time: now,
            isState: false, content: encrypted)
    }

    func read(_ event: EncryptedEvent) throws -> Result<JSONView, DecryptionFailure> {
        try turn { machine, turn in try machine.decrypt(event, &turn) }
    }

    /// What the event says; nil if it cannot be read.
    func text(_ event: EncryptedEvent) throws -> String? {
        try read(event).get()["content"]?["body"]?.string
    }

    func failure(_ event: EncryptedEvent) throws -> DecryptionFailure? {
        switch try read(event) {
        case .success: nil
        case .failure(let failure): failure
        }
    }
}

extension RoomToEncrypt {
    static func room(_ members: String..., acknowledged: Set<String> = []) -> RoomToEncrypt {
        RoomToEncrypt(roomId: "!r:s", members: members, isSharedHistory: true, acknowledged: acknowledged)
    }
}
