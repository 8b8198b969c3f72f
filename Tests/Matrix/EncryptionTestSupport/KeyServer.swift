package import JSONBytes
package import MatrixEncryption

/// The part of a homeserver that stores keys and delivers messages to devices, like Synapse.
package final class KeyServer {
    package struct Device {
        package var keys: JSONView?
        package var oneTimeKeys: [(id: String, key: JSONView)] = []
        package var fallbackKey: (id: String, key: JSONView)?
        var isFallbackUsed = true
        package var messages: [JSONView] = []
        /// Number of earlier messages that were delivered and will not be requested again.
        var acknowledged = 0
        var transactions: Set<String> = []
    }

    /// A device's read position.
    package struct Token: Sendable, Equatable {
        package var (messages, changes): (Int, Int)

        package init(messages: Int, changes: Int) { (self.messages, self.changes) = (messages, changes) }
    }

    package struct Request: Sendable {
        package let call: CryptoRequest.Call
        /// JSON text; empty for calls without a body.
        package let body: String

        package init(call: CryptoRequest.Call, body: String) { (self.call, self.body) = (call, body) }
    }

    package var devices: [DeviceAddress: Device] = [:]
    /// By user and section: `master_keys` and its siblings.
    package var identities: [String: [String: JSONView]] = [:]
    /// Master keys with the signatures that only their signer sees, by signer and signed user.
    package var signatures: [String: [String: JSONView]] = [:]
    /// Users whose devices have changed, in order.
    private var changes: [String] = []
    /// Read positions of devices whose syncs deliver everything once.
    private var tokens: [DeviceAddress: Token] = [:]
    /// Changes an answer as a hostile server would.
    package var tamper: (Request, JSONView) -> JSONView = { $1 }
    /// Servers that do not respond.
    package var failures: Set<String> = []
    package private(set) var requests: [Request] = []
    package var backups = ServerBackups()
    /// An event of a room, unencrypted.
    package struct RoomEvent {
        package let sender: DeviceAddress
        package let roomId: String
        package let eventId: String
        package let type: String
        package var content: JSONView

        package init(sender: DeviceAddress, roomId: String, eventId: String, type: String, content: JSONView) {
            (self.sender, self.roomId, self.eventId) = (sender, roomId, eventId)
            (self.type, self.content) = (type, content)
        }
    }

    package var timeline: [RoomEvent] = []

    package init() {}

    package func addDevice(_ address: DeviceAddress) {
        devices[address] = Device()
        tokens[address] = now(of: address)
    }

    package func removeDevice(_ address: DeviceAddress) {
        devices[address] = nil
        noteChange(of: address.user)
    }

    package func noteChange(of user: String) { changes.append(user) }

    /// Deletes all one-time keys of a device, and its fallback key.
    package func loseKeys(of address: DeviceAddress) {
        devices[address]?.oneTimeKeys = []
        devices[address]?.fallbackKey = nil
    }

    /// Adds a forged message for a device.
    package func inject(_ message: JSONView, to address: DeviceAddress) { devices[address]?.messages.append(message) }

    package func messages(to address: DeviceAddress) -> [JSONView] { devices[address]?.messages ?? [] }

    // MARK: Syncs

    /// The read position of a device that has received everything.
    package func now(of address: DeviceAddress) -> Token {
        let device = devices[address] ?? Device()
        return Token(messages: device.acknowledged + device.messages.count, changes: changes.count)
    }

    /// The sync from a token on. Discards the messages before it.
    package func sync(_ address: DeviceAddress, since token: Token) -> CryptoSync {
        var sync = CryptoSync()
        guard var device = devices[address] else { return sync }
        let count = max(0, min(token.messages - device.acknowledged, device.messages.count))
        device.messages.removeFirst(count)
        device.acknowledged += count
        devices[address] = device
        sync.toDevice = device.messages
        sync.changed = Array(changes.dropFirst(token.changes))
        sync.oneTimeKeyCount = device.oneTimeKeys.count
        sync.unusedFallbackKeys = device.isFallbackUsed ? [] : ["signed_curve25519"]
        return sync
    }

    /// The device's next sync. Delivers everything once.
    package func sync(_ address: DeviceAddress) -> CryptoSync {
        let token = now(of: address)
        defer {
            tokens[address] = token
            _ = self.sync(address, since: token)
        }
        return self.sync(address, since: tokens[address] ?? Token(messages: 0, changes: 0))
    }

    package func oneTimeKeyCount(of address: DeviceAddress) -> Int { devices[address]?.oneTimeKeys.count ?? 0 }

    // MARK: Requests

    package func answer(_ request: CryptoRequest, from address: DeviceAddress) throws -> JSONView {
        try answer(Request(call: request.call, body: request.body), from: address)
    }

    package func answer(_ request: Request, from address: DeviceAddress) throws -> JSONView {
        requests.append(request)
        guard let body = request.body.isEmpty ? .nothing : JSONView(Array(request.body.utf8)) else {
            throw ServerRefusal(code: "M_NOT_JSON")
        }
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
        let known = Dictionary(grouping: self.devices, by: \.key.user)
        return object { answer in
            answer.add(
                "device_keys",
                object { writer in
                    for user in asked {
                        writer.add(
                            user,
                            object { devices in
                                for (address, device) in known[user] ?? [] {
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
                let addresses =
                    target == "*" ? devices.keys.filter { $0.user == user } : [DeviceAddress(user, target)]
                for address in addresses { devices[address]?.messages.append(message) }
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

/// A JSON object.
package func object(_ body: (inout JSONWriter) -> Void) -> JSONView {
    var writer = JSONWriter()
    body(&writer)
    return writer.view
}
