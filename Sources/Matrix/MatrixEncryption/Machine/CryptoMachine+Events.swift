import Basics
package import JSONBytes

/// Why an event of a room cannot be read, or is not believed (Documentation/Rules/encryption.md, "Reading room events").
package enum DecryptionFailure: Error, Sendable, Hashable {
    /// The session is not known. It may come later.
    case unknownSession
    /// Its owner has not given it to this device: the code of `m.room_key.withheld`.
    case withheld(code: String)
    /// The session is known from a later message on. An earlier key may come.
    case tooEarly
    /// Another event had the same index of the session.
    case replay
    case senderMismatch
    case wrongRoom
    /// State and events that are encrypted twice cannot be inside.
    case forbiddenContent
    case unknownAlgorithm
    case damaged(EncryptionError)

    /// Whether a key that comes later can help.
    package var maySucceedLater: Bool {
        switch self {
        case .unknownSession, .withheld, .tooEarly: true
        case .replay, .senderMismatch, .wrongRoom, .forbiddenContent, .unknownAlgorithm, .damaged: false
        }
    }
}

/// An event of a room as the server has it.
package struct EncryptedEvent: Sendable {
    package let roomId: String
    package let eventId: String
    package let sender: String
    /// Milliseconds since 1970.
    package let time: UInt64
    package let isState: Bool
    package let content: JSONView

    package init(roomId: String, eventId: String, sender: String, time: UInt64, isState: Bool, content: JSONView) {
        (self.roomId, self.eventId, self.sender) = (roomId, eventId, sender)
        (self.time, self.isState, self.content) = (time, isState, content)
    }
}

extension CryptoMachine {
    /// What was inside of an event of a room: an object with `type` and `content`, which has the relation of the outside.
    ///
    /// What cannot be read yet waits: ``takeWaiting(roomId:sessionId:_:)`` names it when the key has come.
    package mutating func decrypt(
        _ event: EncryptedEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Result<JSONView, DecryptionFailure> {
        let result = try read(event, &turn)
        if case .failure(let failure) = result, failure.maySucceedLater, !event.eventId.isEmpty,
            event.eventId.utf8.count <= 255,
            let sessionId = event.content["session_id"]?.string, sessionId.utf8.count <= 64
        {
            let scope = Self.waitingScope(event.roomId, sessionId)
            try noteWaiting(event, sessionId, &turn)
            turn.unreadable.insert(RecordKey(.setting, scope: scope, key: event.eventId))
            try noteMissing(event.roomId, sessionId, senderKey: senderKey(of: event, &turn), &turn)
        }
        return result
    }

    /// What an event says of its sender's key, if that is one of the sender's: anybody may send an event that names a
    /// session.
    private func senderKey(
        of event: EncryptedEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> String? {
        guard let text = event.content["sender_key"]?.string, let key = try? Curve25519PublicKey(base64: text),
            try device(event.sender, with: key, &turn) != nil
        else { return nil }
        return text
    }

    // MARK: Events that wait

    /// Events of one sender in a room: what one sends takes no place from another's. The store has them all, and of each
    /// this is a small part. Those beyond are read when somebody looks at them, and so are those of a room that was left.
    private static let waitingOfASender = 20_000

    private func noteWaiting(
        _ event: EncryptedEvent, _ sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let scope = Self.waitingScope(event.roomId, sessionId)
        guard event.sender.utf8.count <= 255,
            try turn.records.value(SettingRecord.self, scope: scope, key: event.eventId) == nil,
            try countWaiting(0, of: event.sender, in: event.roomId, &turn) < Self.waitingOfASender
        else { return }
        turn.records.set(SettingRecord(event.sender), scope: scope, key: event.eventId)
        try countWaiting(1, of: event.sender, in: event.roomId, &turn)
        let sessions = Self.waitingSessions(event.roomId)
        if try turn.records.value(SettingRecord.self, scope: sessions, key: sessionId) == nil {
            turn.records.set(SettingRecord("yes"), scope: sessions, key: sessionId)
        }
    }

    /// - Returns: How many there are now.
    @discardableResult
    private func countWaiting(
        _ change: Int, of sender: String, in roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Int {
        let scope = Self.waitingCounts(roomId)
        let old: SettingRecord? = try turn.records.value(scope: scope, key: sender)
        let count = max(0, (old?.numbers.first ?? 0) + change)
        if change != 0, count > 0 {
            turn.records.set(SettingRecord("\(count)"), scope: scope, key: sender)
        } else if change != 0 {
            turn.records.remove(.setting, scope: scope, key: sender)
        }
        return count
    }

    /// Of a session: the events' ids, each with its sender.
    private static func waitingScope(_ roomId: String, _ sessionId: String) -> String {
        "waiting " + roomId + "\n" + sessionId
    }

    private static func waitingSessions(_ roomId: String) -> String { "sessions waited for in " + roomId }

    private static func waitingCounts(_ roomId: String) -> String { "events that wait in " + roomId }

    /// Ids of events that wait for a session. Those that still cannot be read wait again. Events that this step has read
    /// itself go on waiting.
    package mutating func takeWaiting(
        roomId: String, sessionId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [String] {
        let scope = Self.waitingScope(roomId, sessionId)
        let all = try turn.records.values(SettingRecord.self, scope: scope)
        let taken = all.filter { !turn.unreadable.contains(RecordKey(.setting, scope: scope, key: $0.key)) }
        for (id, _) in taken { turn.records.remove(.setting, scope: scope, key: id) }
        for (sender, events) in Dictionary(grouping: taken, by: \.value.text) {
            try countWaiting(-events.count, of: sender, in: roomId, &turn)
        }
        if taken.count == all.count {
            turn.records.remove(.setting, scope: Self.waitingSessions(roomId), key: sessionId)
        }
        return taken.map(\.key)
    }

    /// The user has left a room: its events wait no more.
    package mutating func noteOwnLeaving(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let sessions = Self.waitingSessions(roomId)
        for (sessionId, _) in try turn.records.values(SettingRecord.self, scope: sessions) {
            try turn.records.removeAll(.setting, scope: Self.waitingScope(roomId, sessionId))
        }
        for scope in [sessions, Self.waitingCounts(roomId)] { try turn.records.removeAll(.setting, scope: scope) }
    }

    // MARK: Reading

    private mutating func read(
        _ event: EncryptedEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Result<JSONView, DecryptionFailure> {
        guard event.content["algorithm"]?.string == Algorithm.megolm else { return .failure(.unknownAlgorithm) }
        guard !event.isState else { return .failure(.forbiddenContent) }
        guard let sessionId = event.content["session_id"]?.string, let text = event.content["ciphertext"]?.string else {
            return .failure(.damaged(.missingField))
        }
        guard var session: InboundSessionRecord = try turn.records.value(scope: event.roomId, key: sessionId) else {
            if let withheld: WithheldRecord = try turn.records.value(scope: event.roomId, key: sessionId),
                withheld.user.isExactly(event.sender)
            {
                return .failure(.withheld(code: withheld.code))
            }
            return .failure(.unknownSession)
        }
        let (message, plaintext): (MegolmMessage, SecretBytes)
        do throws(EncryptionError) {
            message = try MegolmMessage(UnpaddedBase64.decode(text))
            plaintext = try open(message, with: &session, in: event.roomId, &turn)
        } catch .index {
            return .failure(.tooEarly)
        } catch {
            // The owner has signed the message: what came by another way is not the right key.
            guard session.source != .direct, error == .mac || error == .padding,
                try !hasOpened(sessionId, in: event.roomId, &turn),
                let address = SessionAddress(event.roomId, sessionId)
            else {
                return .failure(.damaged(error))
            }
            try noteWrong(session, at: address, &turn)
            return .failure(.unknownSession)
        }
        // Nobody has claimed it when it came: its owner may be known since.
        let owner =
            session.user.isEmpty
            ? try turn.records.value(DeviceByKeyRecord.self, key: session.curve25519.base64)?.address.user
            : session.user
        guard owner?.isExactly(event.sender) != false else { return .failure(.senderMismatch) }
        guard let payload = JSONView(plaintext.withUnsafeBytes { Array($0) }), payload.isObject else {
            return .failure(.damaged(.notJSON))
        }
        guard payload["room_id"]?.string?.isExactly(event.roomId) == true else { return .failure(.wrongRoom) }
        // Nobody checks whether the sender may redact what a hidden redaction names.
        guard let type = payload["type"]?.string, type != "m.room.encrypted", type != "m.room.redaction",
            payload["state_key"] == nil, let content = payload["content"], content.isObject
        else { return .failure(.forbiddenContent) }
        guard try !isReplay(event, sessionId, message.index, &turn) else { return .failure(.replay) }
        return .success(Self.clear(type, content, relation: event.content["m.relates_to"]))
    }

    /// Notes which event a message was.
    private mutating func isReplay(
        _ event: EncryptedEvent, _ sessionId: String, _ index: UInt32, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard !event.eventId.isEmpty else { return false }
        let scope = event.roomId + "\n" + sessionId
        if let known: MessageIndexRecord = try turn.records.value(scope: scope, key: "\(index)") {
            return !known.eventId.isExactly(event.eventId)
        }
        turn.records.set(MessageIndexRecord(eventId: event.eventId, time: event.time), scope: scope, key: "\(index)")
        return false
    }

    private static func clear(_ type: String, _ content: JSONView, relation: JSONView?) -> JSONView {
        var inner = JSONWriter()
        for (key, value) in content.members where !key.isExactly("m.relates_to") { inner.add(key, value) }
        if let relation { inner.add("m.relates_to", relation) }
        var object = JSONWriter()
        object.add("type", type)
        object.add("content", inner)
        return object.view
    }
}

/// The part of a sync that concerns encryption.
package struct CryptoSync: Sendable {
    /// Messages to this device, in their order.
    package var toDevice: [JSONView] = []
    /// Users whose devices have changed.
    package var changed: [String] = []
    /// Users who share no encrypted room with us any more.
    package var left: [String] = []
    /// How many one-time keys the server has, of those that ``unusedFallbackKeys`` does not name; nil if it does not say.
    package var oneTimeKeyCount: Int?
    /// `device_unused_fallback_key_types`.
    package var unusedFallbackKeys: [String]?
    /// There was none before, or its point of the stream is lost.
    package var isInitial = false

    package init() {}
}

extension CryptoMachine {
    /// Takes what a sync brings, before its rooms: so keys are there when their messages come.
    package mutating func receive(_ sync: CryptoSync, _ turn: inout CryptoTurn) throws(EncryptionError) {
        try track([me.user], &turn)
        if sync.isInitial { try markAllOutdated(&turn) }
        for event in sync.toDevice { try receive(event, &turn) }
        try noteChanged(sync.changed, &turn)
        try noteLeft(sync.left, &turn)
        noteCounts(sync.oneTimeKeyCount, unusedFallbackKeys: sync.unusedFallbackKeys)
    }
}
