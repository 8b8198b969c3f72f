import Basics
import JSONBytes

/// The in-memory state of history sharing.
struct HistoryWork: Sendable {
    /// The downloaded bundles that have not been imported yet.
    var downloads: [Download] = []
    /// The number of times a room's offer was reported.
    var told: [ByteKey: Int] = [:]
    /// Whether offers that an earlier process reported, but may not have imported, were reported again.
    var isResumed = false
    /// The pauses of rooms whose offers could not be downloaded.
    var pauses: [ByteKey: CryptoMachine.Pause] = [:]

    struct Download: Sendable {
        let roomId: String
        let offer: HistoryOfferRecord
        var keys: ArraySlice<JSONView>
        let withheld: [JSONView]
    }
}

/// Keys of earlier messages for invited users (Documentation/Rules/encryption.md, "History for new members").
extension CryptoMachine {
    /// The time in milliseconds to wait for an invited user's devices.
    private static let sharingTime: UInt64 = 600_000
    /// The time in milliseconds in which an offer can be accepted without asking.
    private static let offerTime: UInt64 = 86_400_000
    /// The maximum number of offers to keep, per user and in total.
    private static let (offersOfAUser, offers) = (20, 200)
    /// The maximum number of reports per process of offers for one room: each is a download.
    private static let maximumTold = 5
    private static let maximumURLLength = 512

    // MARK: Sharing

    /// Returns the bundle of a room: the sessions that new members may have, and the names of those that they may not.
    /// The caller encrypts it as a file, uploads it, and calls ``shareHistory(of:file:with:_:)``.
    ///
    /// - Returns: `nil` if there is nothing to share.
    package func historyBundle(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> SecretBytes? {
        var (keys, withheld): ([SecretBytes], [SecretBytes]) = ([], [])
        for record in try usableSessions(of: roomId, &turn) {
            if record.isSharedHistory {
                keys.append(try ExportedSession(record, in: roomId).fileJSON)
            } else {
                var refusal = JSONWriter()
                refusal.add("algorithm", Algorithm.megolm)
                refusal.add("room_id", roomId)
                refusal.add("session_id", record.session.id)
                refusal.add("sender_key", record.curve25519.base64)
                refusal.add("code", "m.history_not_shared")
                refusal.add("reason", "The sender does not share this part of the history.")
                withheld.append(SecretBytes(refusal.text.utf8))
            }
        }
        guard !keys.isEmpty else { return nil }
        func list(_ name: String, _ objects: [SecretBytes]) -> [SecretBytes] {
            let separated = objects.enumerated().flatMap {
                [SecretBytes(($0.offset == 0 ? "" : ",").utf8), $0.element]
            }
            return [SecretBytes("\"\(name)\":[".utf8)] + separated + [SecretBytes("]".utf8)]
        }
        let parts = list("room_keys", keys) + [SecretBytes(",".utf8)] + list("withheld", withheld)
        return SecretBytes(joining: [SecretBytes("{".utf8)] + parts + [SecretBytes("}".utf8)])
    }

    /// Shares an uploaded bundle with those devices of an invited user that the user has signed.
    package mutating func shareHistory(
        of roomId: String, file: EncryptedFile, with user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        var content = JSONWriter()
        content.add("room_id", roomId)
        content.add("file", file.json)
        try refresh([user], &turn)
        turn.records.set(
            HistoryShareRecord(user: user, content: content.view, time: turn.now),
            key: HistoryShareRecord.key(roomId, user))
    }

    /// Returns whether any devices of an invited user are still waiting for the bundle of a room.
    package func isSharingHistory(
        of roomId: String, with user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let record: HistoryShareRecord? = try turn.records.value(key: HistoryShareRecord.key(roomId, user))
        return record != nil
    }

    mutating func shareHistory(_ turn: inout CryptoTurn) throws(EncryptionError) {
        for (key, var record) in try turn.records.values(HistoryShareRecord.self) {
            let isOver = turn.now < record.time || turn.now - record.time >= Self.sharingTime
            let isKnown = isOver ? true : try areKnown([record.user], &turn)
            guard isKnown else { continue }
            var isWaiting = false
            for device in try devices(of: record.user, &turn) where device.address != me {
                let trust = try trust(of: device, &turn)
                guard trust.isCrossSigned, !trust.isBlocked, !device.isSuspicious,
                    !record.given.contains(where: { $0.isExactly(device.keys.deviceID) })
                else { continue }
                if let message = try encrypt("m.room_key_bundle", record.content, for: device.keys, &turn) {
                    try post("m.room.encrypted", [(device.address, message)], shares: [], &turn)
                    record.given.append(device.keys.deviceID)
                } else if !hasGivenNoKey(device.address, turn.now) {
                    wanted.insert(device.address)
                    isWaiting = true
                }
            }
            if isWaiting, !isOver {
                turn.records.set(record, key: key)
            } else {
                turn.records.remove(.historyShare, key: key)
            }
        }
    }

    // MARK: Receiving

    /// Stores an offer. It can be accepted once the user has joined the room on this very user's invitation.
    mutating func receive(
        bundle content: JSONView, from sender: Sender, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let roomId = content["room_id"]?.string, let json = content["file"] else { throw .missingField }
        let file = try EncryptedFile(json)
        guard roomId.utf8.count <= 255, sender.user.utf8.count <= 255, let url = file.url,
            url.utf8.count <= Self.maximumURLLength, url.hasPrefix("mxc://")
        else { throw .ids }
        let key = HistoryOfferRecord.key(roomId, sender.user)
        let others = try turn.records.values(HistoryOfferRecord.self).filter { !$0.key.isExactly(key) }
        // Discard the oldest of the same user, so that nobody displaces others' offers.
        let own = others.filter { $0.value.user.isExactly(sender.user) }
        let full = own.count >= Self.offersOfAUser ? own : others.count >= Self.offers ? others : []
        if let oldest = full.min(by: { $0.value.time < $1.value.time }) {
            turn.records.remove(.historyOffer, key: oldest.key)
        }
        let offer = HistoryOfferRecord(
            roomId: roomId, user: sender.user, curve25519: sender.curve25519, file: file, time: turn.now)
        turn.records.set(offer, key: key)
        // Whether the user has signed the device is known once the user's keys are.
        try track([sender.user], areMembers: false, &turn)
        try tell(offer, &turn)
    }

    /// Records that the user has joined a room on another user's invitation.
    package mutating func noteJoined(
        _ roomId: String, invitedBy inviter: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        turn.records.set(InvitationRecord(inviter: inviter, time: turn.now), key: roomId)
        if let offer: HistoryOfferRecord = try turn.records.value(key: HistoryOfferRecord.key(roomId, inviter)) {
            try tell(offer, &turn)
        }
    }

    /// Reports waiting offers of users whose keys are now known.
    mutating func tellHistory(of users: [String], _ turn: inout CryptoTurn) throws(EncryptionError) {
        for offer in try turn.records.values(HistoryOfferRecord.self).map(\.value)
        where !offer.isTold && users.contains(where: { $0.isExactly(offer.user) }) {
            try tell(offer, &turn)
        }
    }

    /// Handles a failed download of an offer, which is reported again later, a few times, unless the failure is final.
    package mutating func noteHistoryFailed(
        of roomId: String, isFinal: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let offer = try offer(of: roomId, &turn) else { return }
        if isFinal {
            turn.records.remove(.historyOffer, key: HistoryOfferRecord.key(roomId, offer.user))
        } else if history.told[ByteKey(roomId), default: 0] < Self.maximumTold {
            history.pauses[ByteKey(roomId), default: Pause()].fail(at: turn.now)
        }
    }

    /// Reports failed downloads again, and once also the offers that an earlier process reported but may not have
    /// imported.
    mutating func resumeHistory(_ turn: inout CryptoTurn) throws(EncryptionError) {
        for (roomId, pause) in history.pauses where pause.until > 0 && pause.until <= turn.now {
            history.pauses[roomId]?.until = 0
            if let offer = try offer(of: roomId.string, &turn) { try tell(offer, &turn) }
        }
        guard !history.isResumed else { return }
        history.isResumed = true
        for offer in try turn.records.values(HistoryOfferRecord.self).map(\.value) where offer.isTold {
            try tell(offer, &turn)
        }
    }

    private mutating func tell(_ offer: HistoryOfferRecord, _ turn: inout CryptoTurn) throws(EncryptionError) {
        guard let invitation: InvitationRecord = try turn.records.value(key: offer.roomId),
            turn.now >= invitation.time, turn.now - invitation.time < Self.offerTime,
            var known = try self.offer(of: offer.roomId, &turn), known.user.isExactly(offer.user),
            history.told[ByteKey(known.roomId), default: 0] < Self.maximumTold
        else { return }
        history.told[ByteKey(known.roomId), default: 0] += 1
        known.isTold = true
        turn.records.set(known, key: HistoryOfferRecord.key(known.roomId, known.user))
        turn.notices.append(.history(roomId: known.roomId, from: known.user))
    }

    /// Returns the offer of the user who invited this one to a room; `nil` if there is none, or it is being imported.
    package func offeredHistory(
        of roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> EncryptedFile? {
        try offer(of: roomId, &turn)?.file
    }

    private func offer(of roomId: String, _ turn: inout CryptoTurn) throws(EncryptionError) -> HistoryOfferRecord? {
        guard !history.downloads.contains(where: { $0.roomId.isExactly(roomId) }),
            let invitation: InvitationRecord = try turn.records.value(key: roomId),
            let offer: HistoryOfferRecord = try turn.records.value(
                key: HistoryOfferRecord.key(roomId, invitation.inviter)),
            let device = try device(offer.user, with: offer.curve25519, &turn), device.isUsable,
            try trust(of: device, &turn).isCrossSigned
        else { return nil }
        return offer
    }

    /// Imports the missing sessions of this room from a downloaded and decrypted bundle. Anything that does not fit
    /// into a turn is left for the next call of ``requests(_:)``.
    ///
    /// - Throws: `unasked` unless ``offeredHistory(of:_:)`` returns it, `notJSON`.
    package mutating func importHistory(
        _ bundle: SecretBytes, of roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let offer = try offer(of: roomId, &turn) else { throw .unasked }
        let bytes = bundle.withUnsafeBytes { Array($0) }
        guard JSONView.isJSON(bytes), let view = JSONView(bytes), view.isObject else { throw .notJSON }
        history.downloads.append(
            .init(
                roomId: roomId, offer: offer, keys: (view["room_keys"]?.array ?? [])[...],
                withheld: view["withheld"]?.array ?? []))
        try takeHistory(&turn)
    }

    /// Imports part of a download.
    mutating func takeHistory(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard var download = history.downloads.first else { return }
        let (roomId, offer) = (download.roomId, download.offer)
        for entry in download.keys.prefix(Self.entriesOfATurn) {
            do throws(EncryptionError) {
                let session = try ExportedSession(entry, roomID: roomId)
                guard try turn.records.value(InboundSessionRecord.self, scope: roomId, key: session.sessionID) == nil
                else { continue }
                var record = try record(session, from: .history, &turn)
                // The device that vouches for it.
                record.forwarders.append(offer.curve25519)
                record.isSharedHistory = true
                try add(record, to: roomId, &turn)
            } catch .store {
                throw .store
            } catch {
                continue
            }
        }
        download.keys = download.keys.dropFirst(Self.entriesOfATurn)
        guard download.keys.isEmpty else {
            history.downloads[0] = download
            return
        }
        history.downloads.removeFirst()
        try takeWithheld(download.withheld, of: roomId, &turn)
        history.pauses[ByteKey(roomId)] = nil
        let key = HistoryOfferRecord.key(roomId, offer.user)
        // A newer offer may contain more.
        if let newer: HistoryOfferRecord = try turn.records.value(key: key), newer.file != offer.file {
            return try tell(newer, &turn)
        }
        // An inviter is trusted once. If the process ends before this, the import starts again.
        turn.records.remove(.historyOffer, key: key)
        turn.records.remove(.invitation, key: roomId)
    }

    /// Stores hints at why parts of the history are unreadable. They explain what their senders sent, and nothing else.
    private func takeWithheld(
        _ entries: [JSONView], of roomId: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for entry in entries.prefix(Self.withheldOfARoom) {
            guard entry["code"]?.string == "m.history_not_shared", entry["room_id"]?.string?.isExactly(roomId) == true,
                let sessionId = entry["session_id"]?.string, sessionId.utf8.count <= 64,
                let senderKey = entry["sender_key"]?.string,
                let owner = try turn.records.value(DeviceByKeyRecord.self, key: senderKey)?.address.user,
                try turn.records.value(InboundSessionRecord.self, scope: roomId, key: sessionId) == nil,
                try turn.records.value(WithheldRecord.self, scope: roomId, key: sessionId) == nil
            else { continue }
            turn.records.set(
                WithheldRecord(code: "m.history_not_shared", user: owner), scope: roomId, key: sessionId)
            turn.notices.append(.withheld(roomId: roomId, sessionId: sessionId))
        }
    }
}
