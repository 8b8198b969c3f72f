import Basics
package import JSONBytes
package import MatrixEncryption

/// A machine with its records, on a ``KeyServer``.
package final class TestDevice {
    package let address: DeviceAddress
    package let server: KeyServer
    package private(set) var records = MemoryRecords()
    package private(set) var machine: CryptoMachine
    package private(set) var notices: [CryptoNotice] = []
    /// Milliseconds since 1970.
    package var now: UInt64 = 1_700_000_000_000
    private var lastEvent = 0

    package init(_ user: String, _ device: String, on server: KeyServer) throws {
        (address, self.server) = (DeviceAddress(user, device), server)
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
        server.addDevice(address)
        try sync()
    }

    /// Runs a step and stores its result.
    @discardableResult
    package func turn<Value>(_ body: (inout CryptoMachine, inout CryptoTurn) throws -> Value) throws -> Value {
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        var machine = machine
        let value = try body(&machine, &turn)
        records.commit(turn.records.changes)
        self.machine = machine
        notices += turn.notices
        return value
    }

    /// Ends the process and starts a new one from the stored records.
    package func restart() throws {
        var turn = CryptoTurn(Records(records), now: now, random: .system)
        machine = try CryptoMachine(me: address, &turn)
        records.commit(turn.records.changes)
        notices += turn.notices
    }

    @discardableResult
    package func takeNotices() -> [CryptoNotice] {
        defer { notices = [] }
        return notices
    }

    /// Sends pending requests until there are none.
    package func pump() throws {
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
        throw EndlessRequests()
    }

    package func sync() throws {
        now += 1
        let sync = server.sync(address)
        try turn { machine, turn in try machine.receive(sync, &turn) }
        try pump()
    }

    package func encryptRoom(_ roomId: String, _ content: String = #"{"algorithm":"m.megolm.v1.aes-sha2"}"#) throws {
        try turn { machine, turn in
            try machine.noteEncryption(of: roomId, JSONView(Array(content.utf8)) ?? .nothing, &turn)
        }
    }

    /// Encrypts a message for everyone in the room.
    package func send(
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
        try pump()  // notifies devices that get no key
        return EncryptedEvent(
            roomId: room.roomId, eventId: "$\(address.device)-\(lastEvent)", sender: address.user, time: now,
            isState: false, content: encrypted)
    }

    package func read(_ event: EncryptedEvent) throws -> Result<JSONView, DecryptionFailure> {
        try turn { machine, turn in try machine.decrypt(event, &turn) }
    }

    /// The text of an event; `nil` if it cannot be read.
    package func text(_ event: EncryptedEvent) throws -> String? {
        try read(event).get()["content"]?["body"]?.string
    }

    package func failure(_ event: EncryptedEvent) throws -> DecryptionFailure? {
        switch try read(event) {
        case .success: nil
        case .failure(let failure): failure
        }
    }
}

/// The machine still makes requests after two thousand.
package struct EndlessRequests: Error {}

extension TestDevice {
    /// Makes and uploads cross-signing keys.
    package func makeIdentity(isReset: Bool = false) throws {
        try sync()
        let body = try turn { try $0.makeIdentity(isReset: isReset, &$1) }
        server.uploadIdentity(body, of: address.user)
        try turn { try $0.identityUploaded(&$1) }
        try pump()
        try sync()
    }

    package func know(_ users: String...) throws {
        try turn { try $0.track(users, &$1) }
        try pump()
    }
}

extension RoomToEncrypt {
    package static func room(_ members: String..., acknowledged: Set<String> = []) -> RoomToEncrypt {
        RoomToEncrypt(
            roomId: "!r:s", members: members, isSharedHistory: true, acknowledged: Set(acknowledged.map { ByteKey($0) })
        )
    }
}
