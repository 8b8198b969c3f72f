import Basics
import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// The result of a step of the machine, to be committed together with its change, then delivered.
struct CryptoStep<Value> {
    let value: Value
    let records: Records
    let notices: [CryptoNotice]
    /// Stored events that have become readable, or whose failure is known better, by room.
    let events: [String: [MXEvent]]
}

extension CryptoMachine {
    /// Performs a step on the contents of a store. If it throws, nothing has changed.
    mutating func step<Value>(
        on store: any MXStore, _ body: (inout CryptoMachine, inout CryptoTurn) throws -> Value
    ) throws(MatrixError) -> CryptoStep<Value> {
        guard let records = store as? any RecordStore else { throw .storeWithoutKeys }
        var (machine, turn) = (self, CryptoTurn(Records(records), now: AccessTokens.now, random: .system))
        do {
            let value = try body(&machine, &turn)
            let events = try machine.readAgain(store, &turn)
            self = machine
            return CryptoStep(value: value, records: turn.records, notices: turn.notices, events: events)
        } catch {
            throw MatrixError(ofEncryption: error)
        }
    }

    // MARK: Reading

    /// Handles the encryption part of an answer, then decrypts what it can of its timelines.
    mutating func read(
        _ response: inout SyncResponse, isInitial: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var sync = CryptoSync()
        sync.toDevice = response.toDevice.map(\.json)
        (sync.changed, sync.left) = (response.changedDevices, response.leftDevices)
        sync.oneTimeKeyCount = response.oneTimeKeyCounts["signed_curve25519"]
        sync.unusedFallbackKeys = response.unusedFallbackKeyTypes
        sync.isInitial = isInitial
        try receive(sync, &turn)
        response.setToDevice(takeForApplication(of: response.toDevice, &turn))
        let joined = Set(response.joined.map(\.roomId))
        for room in response.joined + response.left {
            let events = room.state + room.timeline.events
            for event in events where event.isEncryption {
                try noteEncryption(of: room.roomId, event.contentJSON, &turn)
            }
            // The server reports no changes of users who no longer share a room with this one, or who are in rooms it
            // has left.
            if joined.contains(room.roomId), try isEncrypted(room.roomId, &turn) {
                try track(Set(events.compactMap(\.member)).subtracting(response.leftDevices), &turn)
            }
            // The server reports no device changes of users who are only invited, or were before.
            try noteChanged(events.compactMap(\.invitee), &turn)
            // A user who left may be back already, but must not read what was said meanwhile (rule R16).
            let user = me.user
            // After a gap, only the resulting membership is known.
            let hasGone = events.contains {
                $0.wentAway(isAfterGap: room.timeline.isLimited).map { $0 != user } == true
            }
            if hasGone {
                try discardSession(of: room.roomId, &turn)
            }
        }
        try response.replaceTimelineEvents { event throws(EncryptionError) in
            let event = try read(event, &turn)
            try receiveVerification(event, &turn)
            return event
        }
        for room in response.left { try noteOwnLeaving(of: room.roomId, &turn) }
    }

    /// Receives verifications between users, which take place in rooms.
    private mutating func receiveVerification(
        _ event: MXEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard event.type == "m.room.message" || event.type.hasPrefix("m.key.verification."), !event.isRedacted,
            let roomId = event.roomId
        else { return }
        let isEncrypted = event.wireType == MXEvent.encryptedType
        try receive(
            VerificationRoomEvent(
                roomId: roomId, eventId: event.eventId, sender: event.sender,
                sessionId: isEncrypted ? event.wireContent["session_id"]?.string : nil, time: event.originServerTs,
                type: event.type, content: event.contentJSON), &turn)
    }

    /// Returns the messages to this device that are not for the machine: those in the clear, then the encrypted ones.
    private func takeForApplication(of events: [MXEvent], _ turn: inout CryptoTurn) -> [MXEvent] {
        var decrypted: [MXEvent] = []
        turn.notices.removeAll { notice in
            guard case .toDevice(let json, let senderKey) = notice else { return false }
            if let event = MXEvent(decrypted: json, senderKey: senderKey) { decrypted.append(event) }
            return true
        }
        return events.filter { !Self.takes($0.type) } + decrypted
    }

    /// Returns an event with its decrypted content, or the reason why it is not known.
    mutating func read(_ event: MXEvent, _ turn: inout CryptoTurn) throws(EncryptionError) -> MXEvent {
        guard event.isEncrypted, !event.isRedacted, let roomId = event.roomId else { return event }
        let encrypted = EncryptedEvent(
            roomId: roomId, eventId: event.eventId, sender: event.sender, time: event.originServerTs,
            isState: event.isState, content: event.wireContent)
        switch try decrypt(encrypted, &turn) {
        case .success(let clear): return event.withDecrypted(clear)
        case .failure(let failure): return event.withDecryptionError(MXDecryptionError(failure))
        }
    }

    /// Reads stored events that waited for the turn's new keys, or that are being looked at.
    private mutating func readAgain(
        _ store: any MXStore, _ turn: inout CryptoTurn
    ) throws -> [String: [MXEvent]] {
        var sessions: Set<RecordKey> = []
        for notice in turn.notices {
            switch notice {
            case .roomKey(let roomId, let sessionId), .withheld(let roomId, let sessionId):
                sessions.insert(RecordKey(.inboundSession, scope: roomId, key: sessionId))
            default: break
            }
        }
        var events: [String: [MXEvent]] = [:]
        for session in sessions.sorted(by: { ($0.scope, $0.key) < ($1.scope, $1.key) }) {
            let ids = try takeWaiting(roomId: session.scope, sessionId: session.key, &turn)
            events[session.scope, default: []] += try readAgain(ids, in: session.scope, store, &turn)
        }
        for (room, ids) in turn.lookedAt {
            let roomId = room.string
            let read = Set((events[roomId] ?? []).map(\.eventId))
            events[roomId, default: []] += try readAgain(ids.filter { !read.contains($0) }, in: roomId, store, &turn)
        }
        return events
    }

    /// - Returns: The events that have changed.
    private mutating func readAgain(
        _ ids: [String], in roomId: String, _ store: any MXStore, _ turn: inout CryptoTurn
    ) throws -> [MXEvent] {
        var waiting: [(event: MXEvent, index: UInt32)] = []
        for id in ids {
            guard let event = try store.event(id, in: roomId), event.isEncrypted else { continue }
            waiting.append((event, event.messageIndex))
        }
        var changed: [MXEvent] = []
        // In the order of encryption: this takes one step of the ratchet for each, not a thousand.
        for (old, _) in waiting.sorted(by: { $0.index < $1.index }) {
            let new = try read(old, &turn)
            if !new.isEncrypted || new.decryptionError != old.decryptionError { changed.append(new) }
        }
        return changed
    }
}

extension SessionModel.Applied {
    /// Adds a step that is part of the same change.
    mutating func add<Value>(
        _ step: CryptoStep<Value>, to model: inout SessionModel, _ store: any MXStore
    ) throws(MatrixError) {
        changes.encryption.add(step.records)
        notices += step.notices.map { .encryption($0) }
        for (roomId, events) in step.events.sorted(by: { $0.key < $1.key }) {
            // Events redacted meanwhile stay redacted.
            let redacted = Set(changes.rooms[roomId]?.replaced.map(\.eventId) ?? [])
            let applied = try model.decrypted(
                events.filter { !redacted.contains($0.eventId) }, in: roomId, store: store)
            for (roomId, room) in applied.changes.rooms {
                changes.rooms[roomId, default: .init()].replaced += room.replaced
            }
            notices += applied.notices
        }
    }
}

extension MXEvent {
    /// Creates a message to this device from its decrypted content. Data in the clear is not mistaken for it.
    fileprivate init?(decrypted json: JSONView, senderKey: Curve25519PublicKey) {
        var content = JSONWriter()
        content.add("algorithm", Algorithm.olm)
        content.add("sender_key", senderKey.base64)
        var object = JSONWriter()
        object.add("type", Self.encryptedType)
        object.add("sender", json["sender"]?.string ?? "")
        object.add("content", content)
        guard let event = MXEvent(json: object.view) else { return nil }
        self = event.withDecrypted(json)
    }

    /// The event's index among the messages of its session.
    fileprivate var messageIndex: UInt32 {
        let text = wireContent["ciphertext"]?.string ?? ""
        return (try? MegolmMessage(UnpaddedBase64.decode(text)).index) ?? 0
    }

    /// Whether the event enables a room's encryption.
    fileprivate var isEncryption: Bool { wireType == "m.room.encryption" && stateKey?.isEmpty == true }

    /// Returns the user who left or was removed with this event, or `nil`.
    ///
    /// - Parameter isAfterGap: Whether the event follows a gap: then anyone who is not a member may have been one
    ///   before.
    fileprivate func wentAway(isAfterGap: Bool) -> String? {
        guard wireType == "m.room.member", let membership = contentJSON["membership"]?.string else { return nil }
        let isGone = isAfterGap ? membership != "join" : ["leave", "ban"].contains(membership)
        return isGone ? stateKey : nil
    }

    /// The user who may read messages in the event's room, according to the event; `nil` if it does not say.
    fileprivate var member: String? {
        if wireType == Self.encryptedType { return sender }
        guard wireType == "m.room.member" else { return nil }
        return ["join", "invite"].contains(contentJSON["membership"]?.string) ? stateKey : nil
    }

    /// The user whom the event invites, if any.
    var invitee: String? {
        wireType == "m.room.member" && contentJSON["membership"]?.string == "invite" ? stateKey : nil
    }
}

extension MatrixError {
    static let storeWithoutKeys = MatrixError(
        .invalidArgument, "this store does not keep keys: encryption needs an MXFileStore or an MXMemoryStore")

    /// Creates the error for one thrown by a step of the machine.
    fileprivate init(ofEncryption error: any Error) {
        switch error {
        case let error as MatrixError: self = error
        case EncryptionError.store, EncryptionError.state:
            self.init(.store, "the keys of this device cannot be read: nothing was sent")
        case EncryptionError.unknownDevice:
            self.init(
                .invalidArgument, "there is no such device, or it takes no part in encryption: nothing was changed")
        case EncryptionError.noPrivateKey:
            self.init(
                .invalidArgument,
                "this device cannot sign: verify it with another device of the user first; nothing was changed")
        case EncryptionError.identityExists:
            self.init(.invalidArgument, "the user has cross-signing keys already: nothing was changed")
        case EncryptionError.untrusted:
            self.init(.invalidArgument, "the keys have changed and are not trusted: nothing was changed")
        case let error as EncryptionError:
            self.init(.invalidArgument, "the keys do not permit that (\(error.rawValue)): nothing was changed")
        case let error as SharingError: self.init(error)
        default: self.init(.invalidArgument, "\(error)")
        }
    }

    private init(_ error: SharingError) {
        switch error {
        case .unknownAlgorithm:
            self.init(
                .encryptionNotAvailable,
                "the room is encrypted in a way that this library does not know: nothing was sent")
        case .notAcknowledged(let users):
            self.init(
                .identityChanged,
                """
                \(users.joined(separator: ", ")): verified, but the keys have changed since, or a device is not signed; \
                nothing was sent. Verify the user again, or withdraw the verification
                """)
        case .notTaken(let users):
            self.init(
                .badResponse,
                """
                the homeserver has refused to pass keys to devices of \(users.prefix(5).joined(separator: ", ")): nothing was \
                sent. Send the message again a little later
                """)
        case .encryption(let error): self.init(ofEncryption: error)
        }
    }
}
