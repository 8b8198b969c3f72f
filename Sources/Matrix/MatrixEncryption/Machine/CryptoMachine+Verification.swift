import Basics
import JSONBytes

/// Verifications: their participants, messages and results (Documentation/Rules/encryption.md, "Verification").
extension CryptoMachine {
    package func verification(_ id: Verification.ID) -> Verification? { verifications.first { $0.id == id } }

    // MARK: Actions of our user

    /// Requests a verification with a message to another device.
    ///
    /// - Parameters:
    ///   - user: Another user, or our own.
    ///   - device: The device; `nil` for all of the user's devices, of which the first to answer takes part.
    /// - Throws: `notKnown` if the user's devices must be queried first: see ``refresh(_:_:)``. `unknownDevice` if
    ///   there is none; `keys` if the keys cannot be verified; `unexpected` if too many verifications are running.
    package mutating func requestVerification(
        of user: String, device: String? = nil, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Verification.ID {
        let keys = try keysToVerify(of: user, device: device, &turn)
        let id = Verification.ID(user: user, transaction: turn.random.text(32))
        let verification = Verification(
            id, .outgoing, me: me, device: nil, keys: keys, methods: verificationMethods, time: turn.now, now: turn.now)
        guard try begin(verification, &turn) else { throw .unexpected }
        let now = turn.now
        try step(id, &turn) { $0.request(now: now) }
        return id
    }

    /// Requests a verification of another user with a message in a shared room.
    ///
    /// The verification begins when the server has the message, which a notice reports.
    ///
    /// - Throws: The errors of ``requestVerification(of:device:_:)``; `ids` for our own user.
    package mutating func requestVerification(
        of user: String, inRoom roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard !user.isExactly(me.user) else { throw .ids }
        let keys = try keysToVerify(of: user, device: nil, &turn)
        var content = JSONWriter()
        content.add("msgtype", VerificationEventType.request.rawValue)
        content.add("body", "\(me.user) asks to verify you. Your client doesn't support verification.")
        content.add("to", user)
        Verification.request(&content, device: me.device, verificationMethods)
        verificationTraffic.outgoing.append(
            .init(
                roomId: roomId, type: "m.room.message", content: content.view, transactionId: turn.random.text(32),
                request: .init(user: user, keys: keys, methods: verificationMethods)))
    }

    /// Starts a comparison with a device that does not support requests.
    ///
    /// - Throws: The errors of ``requestVerification(of:device:_:)``.
    package mutating func startComparing(
        with address: DeviceAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Verification.ID {
        let keys = try keysToVerify(of: address.user, device: address.device, &turn)
        let id = Verification.ID(user: address.user, transaction: turn.random.text(32))
        let verification = Verification(
            id, .outgoing, me: me, device: address.device, keys: keys, methods: verificationMethods, time: turn.now,
            now: turn.now)
        guard try begin(verification, &turn) else { throw .unexpected }
        try startComparing(id, &turn)
        return id
    }

    /// Accepts a verification that the other side requested.
    package mutating func acceptVerification(
        _ id: Verification.ID, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let (now, random) = (turn.now, turn.random)
        try command(id, &turn) { verification throws(EncryptionError) in
            try verification.accept(now: now, random: random)
        }
    }

    /// Starts the comparison of emoji or numbers.
    package mutating func startComparing(_ id: Verification.ID, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let now = turn.now
        try command(id, &turn) { verification throws(EncryptionError) in try verification.startComparing(now: now) }
    }

    /// Processes the scanned code of the other side.
    ///
    /// - Throws: `header`, `version`, `length`, `ids` or `mode` for an invalid code, or that of another verification:
    ///   the user can scan again. `untrusted` if this device does not trust its own user's master key.
    package mutating func scanned(
        _ code: [UInt8], _ id: Verification.ID, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let now = turn.now
        try command(id, &turn) { verification throws(EncryptionError) in try verification.scanned(code, now: now) }
    }

    /// Confirms that our user sees the same emoji or numbers as the other.
    package mutating func confirmSame(_ id: Verification.ID, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let now = turn.now
        try command(id, &turn) { verification throws(EncryptionError) in try verification.confirmSame(now: now) }
    }

    /// Confirms that our user sees that the other side has scanned our code.
    package mutating func confirmScanned(_ id: Verification.ID, _ turn: inout CryptoTurn) throws(EncryptionError) {
        let now = turn.now
        try command(id, &turn) { verification throws(EncryptionError) in try verification.confirmScanned(now: now) }
    }

    /// Cancels a verification. One that has ended is unchanged.
    ///
    /// - Parameter code: `mismatchedSAS` if the two users see different emoji or numbers.
    package mutating func cancelVerification(
        _ id: Verification.ID, _ code: VerificationCancelCode = .user, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let now = turn.now
        try command(id, &turn) { $0.cancel(code, now: now) }
    }

    private mutating func command(
        _ id: Verification.ID, _ turn: inout CryptoTurn,
        _ body: (inout Verification) throws(EncryptionError) -> [Verification.Action]
    ) throws(EncryptionError) {
        try timePassed(&turn)
        guard verification(id) != nil else { throw .unexpected }
        try step(id, &turn, body)
    }

    // MARK: Time

    /// The time of the next call of ``timePassed(_:)``; `nil` if nothing is pending.
    package var nextDeadline: UInt64? { verifications.compactMap(\.deadline).min() }

    /// Ends verifications that have timed out.
    package mutating func timePassed(_ turn: inout CryptoTurn) throws(EncryptionError) {
        let now = turn.now
        for id in verifications.filter({ ($0.deadline ?? .max) <= now }).map(\.id) {
            try step(id, &turn) { $0.timePassed(now: now) }
        }
        verifications.removeAll { $0.isFinished && $0.expiry <= now }
        _ = verificationTraffic.release { $0.arrival + Verification.promptPatience <= now }
    }

    // MARK: Steps

    private mutating func step(
        _ id: Verification.ID, _ turn: inout CryptoTurn,
        _ body: (inout Verification) throws(EncryptionError) -> [Verification.Action]
    ) throws(EncryptionError) {
        guard let index = verifications.firstIndex(where: { $0.id == id }) else { return }
        var verification = verifications[index]
        let before = verification.state
        let actions =
            if try isStillTheSame(verification, &turn) {
                try body(&verification)
            } else {
                verification.cancel(.keyMismatch, now: turn.now)
            }
        verifications[index] = verification
        if verification.state != before { turn.notices.append(.verificationChanged(id)) }
        for action in actions {
            switch action {
            case .send(let event, let devices): try send(event, to: devices, of: id, &turn)
            case .trust(let proof): try trust(proof, of: verification, &turn)
            }
        }
    }

    private mutating func send(
        _ event: VerificationEvent, to devices: [String], of id: Verification.ID, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let roomId = id.roomId else {
            let messages = devices.map { (to: DeviceAddress(id.user, $0), content: event.content) }
            return try post(event.type.rawValue, messages, shares: [], &turn)
        }
        verificationTraffic.outgoing.append(
            .init(
                roomId: roomId, type: event.type.rawValue, content: event.content, transactionId: turn.random.text(32)))
    }

    // MARK: Keys

    /// Returns the keys of a verification that our user begins.
    private func keysToVerify(
        of user: String, device: String?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> VerificationKeys {
        guard try areKnown([user], &turn) else { throw .notKnown }
        guard var keys = try keysToVerify(of: user, &turn) else { throw .keys }
        if let device { keys.otherDevices.removeAll { !$0.id.isExactly(device) } }
        guard !keys.otherDevices.isEmpty else { throw .unknownDevice }
        return keys
    }

    /// Returns the current keys; `nil` if a device looks like a key of its user (R27).
    private func keysToVerify(
        of user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> VerificationKeys? {
        let own: IdentityRecord? = try turn.records.value(key: me.user)
        let isOwn = user.isExactly(me.user)
        let other = isOwn ? own : try turn.records.value(key: user)
        let devices = try devices(of: user, &turn).filter {
            !$0.isSuspicious && !$0.keys.isDehydrated && $0.address != me
        }
        for (ids, identity) in [([me.device], own), (devices.map(\.keys.deviceID), other)] {
            guard !ids.contains(where: { identity?.hasKey(named: $0) == true }) else { return nil }
        }
        return VerificationKeys(
            device: account.ed25519.publicKey, ownMaster: own?.master.publicKey,
            trustsOwnMaster: try trustsOwnIdentity(&turn), otherMaster: other?.master.publicKey,
            otherDevices: devices.map { .init(id: $0.keys.deviceID, key: $0.keys.ed25519) })
    }

    /// Returns whether all keys of a running verification are the same as at its beginning.
    private func isStillTheSame(
        _ verification: Verification, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        if verification.isFinished { return true }
        guard let now = try keysToVerify(of: verification.id.user, &turn) else { return false }
        return !verification.keys.hasChanged(to: now, device: verification.device)
    }

    /// Handles the answer to a query for these users' keys.
    mutating func noteKeysForVerifications(
        of users: [String], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let isOwn = users.contains { $0.isExactly(me.user) }
        for id in verifications.map(\.id) where isOwn || users.contains(where: { $0.isExactly(id.user) }) {
            try step(id, &turn) { _ in [] }
        }
        let released = verificationTraffic.release { event in users.contains { $0.isExactly(event.id.user) } }
        for event in released { try receive(event, isFinal: true, &turn) }
    }

    // MARK: Trust

    private mutating func trust(
        _ proof: Verification.Proof, of verification: Verification, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let (user, keys) = (verification.id.user, verification.keys)
        let isOwn = user.isExactly(me.user)
        if proof.master, let identity: IdentityRecord = try turn.records.value(key: user),
            identity.master.publicKey == keys.otherMaster
        {
            // It may differ from the earlier one; now it is verified.
            try acceptIdentity(of: user, &turn)
            if !isOwn {
                try ifPossible { machine throws(EncryptionError) in try machine.signUser(user, &turn) }
            } else if try !trustsOwnIdentity(&turn), let own: IdentityRecord = try turn.records.value(key: user) {
                try trustOwnIdentity(own, &turn)
            }
        }
        if proof.device, let device = verification.device,
            let record: DeviceRecord = try turn.records.value(scope: user, key: device), record.isUsable,
            !record.isSuspicious, record.keys.ed25519 == keys.key(of: device)
        {
            // A device that our user has blocked stays blocked.
            if record.trust == .unset { try setTrust(.verified, of: record.address, &turn) }
            if isOwn { try ifPossible { machine throws(EncryptionError) in try machine.signDevice(device, &turn) } }
            turn.notices.append(.trustChanged(user: user))
        }
    }

    /// Signs if the private key for it is available.
    private mutating func ifPossible(
        _ body: (inout CryptoMachine) throws(EncryptionError) -> Void
    ) throws(EncryptionError) {
        do throws(EncryptionError) { try body(&self) } catch .noPrivateKey {} catch { throw error }
    }

    // MARK: Incoming events

    /// - Parameter type: The type of the unencrypted message to this device.
    mutating func receive(
        verification type: String, _ content: JSONView, from sender: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        try timePassed(&turn)
        guard let type = VerificationEventType(rawValue: type), Self.isSmall(content, sender),
            let transaction = content["transaction_id"]?.idText
        else { return }
        let time = type == .request ? content["timestamp"]?.wholePart.flatMap(UInt64.init(exactly:)) : turn.now
        guard let time else { return }
        try receive(
            VerificationTraffic.Incoming(
                id: Verification.ID(user: sender, transaction: transaction), type: type, content: content.detached,
                time: time, arrival: turn.now), isFinal: false, &turn)
    }

    /// Handles a room event if it belongs to a verification: `m.room.message`, and types that begin with
    /// `m.key.verification.`.
    package mutating func receive(
        _ event: VerificationRoomEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        try timePassed(&turn)
        guard Self.isSmall(event.content, event.sender), event.roomId.utf8.count <= 255,
            1...255 ~= event.eventId.utf8.count
        else { return }
        let isRequest =
            event.type == "m.room.message"
            && event.content["msgtype"]?.string == VerificationEventType.request.rawValue
        guard isRequest || event.type.hasPrefix(VerificationEventType.prefix) else { return }
        var device = event.content["from_device"]?.string
        switch try origin(of: event, &turn) {
        case .clear: break
        case .device(let sender):
            if let device, !device.isExactly(sender) { return }  // one device must not speak for another
            device = sender
        case .unknown: return
        }
        if isRequest { return try receive(request: event, from: device, &turn) }
        let relation = event.content["m.relates_to"]
        guard let type = VerificationEventType(rawValue: event.type), type != .request,
            relation?["rel_type"]?.string == "m.reference", let transaction = relation?["event_id"]?.idText
        else { return }
        let (room, isOwn) = (event.roomId, event.sender.isExactly(me.user))
        func isMeant(_ id: Verification.ID) -> Bool {
            id.roomId?.isExactly(room) == true && id.transaction.isExactly(transaction)
                && (isOwn || id.user.isExactly(event.sender))
        }
        guard let verification = verifications.first(where: { isMeant($0.id) }) else {
            // Others verify each other in this room too: don't cancel unknown verifications.
            if isOwn || type == .cancel { _ = verificationTraffic.release { isMeant($0.id) } }
            return
        }
        if isOwn {
            return try step(verification.id, &turn) { verification in
                verification.ownDevice(device, sent: type)
                return []
            }
        }
        if let device, let other = verification.device, !device.isExactly(other) { return }
        guard let index = verifications.firstIndex(where: { $0.id == verification.id }),
            verifications[index].isNew(event.eventId)
        else { return }
        try receive(
            VerificationTraffic.Incoming(
                id: verification.id, type: type, content: event.content.detached, time: event.time, arrival: turn.now),
            isFinal: false, &turn)
    }

    private enum Origin {
        case clear
        case device(String)
        case unknown
    }

    /// Returns the sender of a room event. In an encrypted room, ignores anything that a server could have forged.
    private func origin(
        of event: VerificationRoomEvent, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Origin {
        guard let id = event.sessionId else { return try isEncrypted(event.roomId, &turn) ? .unknown : .clear }
        guard let session: InboundSessionRecord = try turn.records.value(scope: event.roomId, key: id),
            session.source == .direct, session.user.isExactly(event.sender)
        else { return .unknown }
        return .device(session.device)
    }

    private mutating func receive(
        request event: VerificationRoomEvent, from device: String?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let to = event.content["to"]?.string else { return }
        if event.sender.isExactly(me.user) {
            // Our own event, perhaps before the answer to its request.
            let index = verificationTraffic.outgoing.firstIndex {
                $0.request?.user.isExactly(to) == true && $0.roomId.isExactly(event.roomId)
            }
            guard device?.isExactly(me.device) == true, let index else { return }
            return try requested(at: index, eventId: event.eventId, &turn)
        }
        let isKnown = verifications.contains {
            $0.id.roomId?.isExactly(event.roomId) == true && $0.id.transaction.isExactly(event.eventId)
        }
        guard to.isExactly(me.user), !isKnown else { return }
        try receive(
            VerificationTraffic.Incoming(
                id: Verification.ID(user: event.sender, roomId: event.roomId, transaction: event.eventId),
                type: .request, content: event.content.detached, time: event.time, arrival: turn.now),
            isFinal: false, &turn)
    }

    private static let maximumSize = 65_536

    private static func isSmall(_ content: JSONView, _ sender: String) -> Bool {
        content.isObject && content.range.count <= maximumSize && 1...255 ~= sender.utf8.count
    }

    // MARK: Events from the other side

    /// - Parameter isFinal: Whether the sender's devices have just been queried.
    private mutating func receive(
        _ event: VerificationTraffic.Incoming, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let (now, random) = (turn.now, turn.random)
        if !isFinal, event.type != .cancel, verificationTraffic.isHeld(event.id) {
            return verificationTraffic.holdNext(event)
        }
        guard let known = verification(event.id) else {
            return try receive(unknown: event, isFinal: isFinal, &turn)
        }
        guard event.type != .request else { return }  // a repetition
        let message: VerificationMessage
        do throws(VerificationCancelCode) {
            message = try VerificationMessage(event.type, event.content)
        } catch {
            return try step(event.id, &turn) { $0.cancel(error, now: now) }
        }
        var device: VerificationKeys.Device?
        if case .ready(let id, _) = message, known.device == nil, !known.isFinished {
            guard let record = try beginner(id, event, isFinal: isFinal, &turn) else { return }
            device = .init(id: id, key: record.keys.ed25519)
        }
        try step(event.id, &turn) { verification in
            if let device { verification.note(device) }
            return verification.received(message, now: now, random: random)
        }
    }

    private mutating func receive(
        unknown event: VerificationTraffic.Incoming, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        switch event.type {
        case .request:
            guard let request = VerificationRequest(event.content), Self.isTimely(event.time, turn.now),
                var verification = try incoming(event, from: request.device, isFinal: isFinal, &turn),
                verification.requested(request.methods)
            else { return }
            try begin(verification, &turn)
        case .start:
            guard let start = try? VerificationStart(event.content), event.id.roomId == nil,
                var verification = try incoming(event, from: start.device, isFinal: isFinal, &turn),
                (try? verification.offered(start, now: turn.now)) != nil
            else { return }
            try begin(verification, &turn)
        case .cancel: _ = verificationTraffic.release { $0.id == event.id }
        case .ready, .accept, .key, .mac, .done:
            guard event.id.roomId == nil, verificationTraffic.refuses(event.id, now: turn.now) else { return }
            // Only `ready` names the sending device.
            let device = event.content["from_device"]?.idText ?? "*"
            try post(
                VerificationEventType.cancel.rawValue,
                [(DeviceAddress(event.id.user, device), event.id.cancel(.unknownTransaction))], shares: [], &turn)
        }
    }

    private static let maximumAge: UInt64 = 600_000
    private static let maximumAhead: UInt64 = 300_000

    private static func isTimely(_ time: UInt64, _ now: UInt64) -> Bool {
        time <= now ? now - time <= maximumAge : time - now <= maximumAhead
    }

    private mutating func incoming(
        _ event: VerificationTraffic.Incoming, from device: String, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Verification? {
        guard let record = try beginner(device, event, isFinal: isFinal, &turn),
            var keys = try keysToVerify(of: event.id.user, &turn)
        else { return nil }
        keys.otherDevices = [.init(id: device, key: record.keys.ed25519)]
        return Verification(
            event.id, .incoming, me: me, device: device, keys: keys, methods: verificationMethods, time: event.time,
            now: turn.now)
    }

    /// Returns the device that takes part from now on.
    ///
    /// - Returns: `nil` if it is unknown. If it has not been queried yet, the event is held until it is.
    private mutating func beginner(
        _ device: String, _ event: VerificationTraffic.Incoming, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> DeviceRecord? {
        let user = event.id.user
        guard DeviceAddress(user, device) != me else { return nil }  // our own, returned by the server
        let record: DeviceRecord? = try turn.records.value(scope: user, key: device)
        if let record, record.isUsable, try areKnown([user], &turn) || isFinal {
            return record.isSuspicious ? nil : record
        }
        if !isFinal, verificationTraffic.hold(event, isOwn: user.isExactly(me.user), now: turn.now) {
            try refresh([user], areMembers: false, &turn)
        }
        return nil
    }

    // MARK: Running verifications

    /// The limit within twenty minutes, after which finished ones are forgotten.
    private static let verificationsOfAUser = 10
    private static let verificationsOfOthers = 50

    /// - Returns: False if too many are running.
    @discardableResult
    private mutating func begin(
        _ verification: Verification, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let id = verification.id
        let isOurs =
            switch verification.direction {
            case .incoming: false
            case .outgoing: true
            }
        guard makePlace(for: id.user, isOurs: isOurs) else { return false }
        let again =
            isOurs
            ? [] : verifications.filter { $0.isFrom(verification.device, of: id.user) && !$0.isFinished }.map(\.id)
        verifications.append(verification)
        turn.notices.append(.verificationChanged(id))
        let now = turn.now
        for other in again.isEmpty ? [] : again + [id] {
            try step(other, &turn) { $0.cancel(.unexpectedMessage, now: now) }
        }
        return true
    }

    /// Forgets finished verifications if the limit is reached.
    ///
    /// - Returns: Whether there is room for another.
    private mutating func makePlace(for user: String, isOurs: Bool) -> Bool {
        let ownUser = me.user
        func forget(_ isOne: (Verification) -> Bool) -> Bool {
            guard let index = verifications.firstIndex(where: { $0.isFinished && isOne($0) }) else { return false }
            verifications.remove(at: index)
            return true
        }
        if verifications.count(where: { $0.id.user.isExactly(user) }) >= Self.verificationsOfAUser {
            return isOurs && forget { $0.id.user.isExactly(user) }
        }
        let others = verifications.count { !$0.id.user.isExactly(ownUser) }
        guard !isOurs, !user.isExactly(ownUser), others >= Self.verificationsOfOthers else { return true }
        return forget { !$0.id.user.isExactly(ownUser) }
    }

    // MARK: Events for rooms

    /// Returns the next event for each room.
    mutating func verificationMessages(_ turn: CryptoTurn) -> [CryptoRequest] {
        guard !isPaused("to-room", turn) else { return [] }
        var busy: Set<ByteKey> = []
        for case .sendToRoom(let roomId, _, _) in inFlight.values.map(\.call) { busy.insert(ByteKey(roomId)) }
        var requests: [CryptoRequest] = []
        for event in verificationTraffic.outgoing where busy.insert(ByteKey(event.roomId)).inserted {
            requests.append(
                request(
                    .sendToRoom(roomId: event.roomId, type: event.type, transactionId: event.transactionId),
                    body: event.content.compactText))
        }
        return requests
    }

    /// - Parameter eventId: The id of the sent event; `nil` if the server will never accept it.
    mutating func verificationMessageSent(
        _ transactionId: String, eventId: String?, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let index = verificationTraffic.outgoing.firstIndex(where: { $0.transactionId == transactionId }) else {
            return
        }
        if let eventId { try requested(at: index, eventId: eventId, &turn) }
        verificationTraffic.outgoing.remove(at: index)
    }

    /// Handles the server's acceptance of our queued request.
    private mutating func requested(
        at index: Int, eventId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let event = verificationTraffic.outgoing[index]
        guard let request = event.request else { return }
        verificationTraffic.outgoing[index].request = nil
        try begin(
            Verification(
                Verification.ID(user: request.user, roomId: event.roomId, transaction: eventId), .outgoing, me: me,
                device: nil, keys: request.keys, methods: request.methods, time: turn.now, now: turn.now), &turn)
    }
}

extension Verification {
    /// Returns whether this device of the other side has begun it.
    fileprivate func isFrom(_ device: String?, of user: String) -> Bool {
        guard case .incoming = direction, let own = self.device, let device else { return false }
        return id.user.isExactly(user) && own.isExactly(device)
    }
}

extension IdentityRecord {
    /// Returns whether a device's id is one of these keys.
    func hasKey(named device: String) -> Bool {
        guard let key = try? Ed25519PublicKey(base64: device) else { return false }
        return CrossSigningUsage.allCases.contains { self.key($0)?.publicKey == key }
    }
}
