import Basics
package import JSONBytes

/// The reason why a room event is unreadable or not trusted (Documentation/Rules/encryption.md, "Reading room events").
package enum DecryptionFailure: Error, Sendable, Hashable {
    /// The session is unknown. It may arrive later.
    case unknownSession
    /// Its owner withheld it from this device. The code is that of `m.room_key.withheld`.
    case withheld(code: String)
    /// The session is known only from a later message on. An earlier key may arrive.
    case tooEarly
    /// Another event has the same index of the session.
    case replay
    case senderMismatch
    case wrongRoom
    /// State and doubly encrypted events are not allowed inside.
    case forbiddenContent
    case unknownAlgorithm
    case damaged(EncryptionError)

    /// Whether a later key can help.
    package var maySucceedLater: Bool {
        switch self {
        case .unknownSession, .withheld, .tooEarly: true
        case .replay, .senderMismatch, .wrongRoom, .forbiddenContent, .unknownAlgorithm, .damaged: false
        }
    }
}

/// A room event as received from the server.
package struct EncryptedEvent: Sendable {
    package let roomId: String
    package let eventId: String
    package let sender: String
    /// The time in milliseconds since 1970.
    package let time: UInt64
    package let isState: Bool
    package let content: JSONView

    package init(roomId: String, eventId: String, sender: String, time: UInt64, isState: Bool, content: JSONView) {
        (self.roomId, self.eventId, self.sender) = (roomId, eventId, sender)
        (self.time, self.isState, self.content) = (time, isState, content)
    }
}

extension CryptoMachine {
    /// Decrypts a room event to an object with `type` and `content`, including the relation of the encrypted event.
    ///
    /// Events that cannot be decrypted yet wait: ``takeWaiting(roomId:sessionId:_:)`` returns them when the key
    /// arrives.
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

    /// Returns the sender's key that an event names, if it belongs to one of the sender's devices: anyone can send an
    /// event that names a session.
    private func senderKey(
        of event: EncryptedEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> String? {
        guard let text = event.content["sender_key"]?.string, let key = try? Curve25519PublicKey(base64: text),
            try device(event.sender, with: key, &turn) != nil
        else { return nil }
        return text
    }

    // MARK: Waiting events

    /// The maximum number of waiting events per sender and room: no sender displaces another's. The store has all
    /// events; each entry here is small. Others, and those of rooms that we have left, are decrypted when viewed.
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

    /// - Returns: The current number.
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

    /// The scope of the ids of events that wait for a session, each with its sender.
    private static func waitingScope(_ roomId: String, _ sessionId: String) -> String {
        "waiting " + roomId + "\n" + sessionId
    }

    private static func waitingSessions(_ roomId: String) -> String { "sessions waited for in " + roomId }

    private static func waitingCounts(_ roomId: String) -> String { "events that wait in " + roomId }

    /// Removes and returns the ids of events that wait for a session. Those that still cannot be decrypted wait again.
    /// Those that this turn has already tried keep waiting.
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

    /// Stops waiting for events of a room that the user has left.
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
            // The owner signed the message, so the key, which came by another way, is wrong.
            guard session.source != .direct, error == .mac || error == .padding,
                try !hasOpened(sessionId, in: event.roomId, &turn),
                let address = SessionAddress(event.roomId, sessionId)
            else {
                return .failure(.damaged(error))
            }
            try noteWrong(session, at: address, &turn)
            return .failure(.unknownSession)
        }
        // The session had no owner when it arrived, but its owner may be known now.
        let owner =
            session.user.isEmpty
            ? try turn.records.value(DeviceByKeyRecord.self, key: session.curve25519.base64)?.address.user
            : session.user
        guard owner?.isExactly(event.sender) != false else { return .failure(.senderMismatch) }
        guard let payload = JSONView(plaintext.withUnsafeBytes { Array($0) }), payload.isObject else {
            return .failure(.damaged(.notJSON))
        }
        guard payload["room_id"]?.string?.isExactly(event.roomId) == true else { return .failure(.wrongRoom) }
        // Nobody would check whether the sender may redact the target of a hidden redaction.
        guard let type = payload["type"]?.string, type != "m.room.encrypted", type != "m.room.redaction",
            payload["state_key"] == nil, let content = payload["content"], content.isObject
        else { return .failure(.forbiddenContent) }
        guard try !isReplay(event, sessionId, message.index, &turn) else { return .failure(.replay) }
        return .success(Self.clear(type, content, relation: event.content["m.relates_to"]))
    }

    /// Returns whether another event has this message index, or records this one for it.
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

/// The parts of a sync that concern encryption.
package struct CryptoSync: Sendable {
    /// The messages to this device, in order.
    package var toDevice: [JSONView] = []
    /// The users whose devices have changed.
    package var changed: [String] = []
    /// The users with whom we no longer share an encrypted room.
    package var left: [String] = []
    /// The number of one-time keys on the server that ``unusedFallbackKeys`` does not name; `nil` if not reported.
    package var oneTimeKeyCount: Int?
    /// `device_unused_fallback_key_types`.
    package var unusedFallbackKeys: [String]?
    /// Whether this is the first sync, or the position in the stream was lost.
    package var isInitial = false

    package init() {}
}

extension CryptoMachine {
    /// Processes a sync before its rooms, so that keys are available when their messages arrive.
    package mutating func receive(_ sync: CryptoSync, _ turn: inout CryptoTurn) throws(EncryptionError) {
        try track([me.user], &turn)
        if sync.isInitial { try markAllOutdated(&turn) }
        for event in sync.toDevice { try receive(event, &turn) }
        try noteChanged(sync.changed, &turn)
        try noteLeft(sync.left, &turn)
        noteCounts(sync.oneTimeKeyCount, unusedFallbackKeys: sync.unusedFallbackKeys)
    }
}
