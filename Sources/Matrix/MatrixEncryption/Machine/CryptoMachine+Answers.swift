import Basics
import JSONBytes

/// Answers requests of other devices for keys and secrets (Documentation/Rules/encryption.md, "Missing keys and
/// requests from other devices", and rule R31).
extension CryptoMachine {
    private static let answersOfAnHour: UInt64 = 100
    /// The maximum number of requests to keep: per device, and from all devices other than our own verified ones.
    private static let (questionsOfADevice, questions) = (200, 1_000)
    /// The time in milliseconds in which a device of ours can be verified before its requests are discarded.
    private static let questionTime: UInt64 = 86_400_000
    /// The scope of the devices that were notified that they receive nothing.
    private static let toldUnverified = "told unverified"

    // MARK: Requests

    /// - Parameter type: `m.room_key_request` or `m.secret.request`, unencrypted: the server names the sender.
    mutating func receive(
        question content: JSONView, _ type: String, from user: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        guard let id = content["request_id"]?.string, let device = content["requesting_device_id"]?.string,
            [id, device, user].allSatisfy({ $0.utf8.count <= 255 })
        else { return }
        let asker = DeviceAddress(user, device)
        let key = QuestionRecord.key(asker, id)
        let isKnown = try turn.records.value(QuestionRecord.self, key: key) != nil
        switch content["action"]?.string {
        case "request_cancellation":
            if isKnown { try forget(asker, id, &turn) }
        case "request":
            guard !isKnown, asker != me, let subject = Self.subject(content, type),
                try mayAsk(asker, for: subject, &turn), try isRoomForQuestion(of: asker, &turn)
            else { return }
            turn.records.set(
                QuestionRecord(device: asker, requestId: id, subject: subject, time: turn.now), key: key)
            try count(asker, 1, &turn)
            traffic.questionEpoch = nil
        default: return
        }
    }

    private static func subject(_ content: JSONView, _ type: String) -> QuestionRecord.Subject? {
        if type == "m.secret.request" {
            // Names with different spellings are different.
            guard let text = content["name"]?.string, let name = SecretName(rawValue: text),
                name.rawValue.isExactly(text)
            else { return nil }
            return .secret(name)
        }
        guard content["body"]?["algorithm"]?.string?.isExactly(Algorithm.megolm) == true,
            let roomId = content["body"]?["room_id"]?.string, let sessionId = content["body"]?["session_id"]?.string
        else { return nil }
        return SessionAddress(roomId, sessionId).map { .session($0) }
    }

    /// Returns whether to keep a request. One of our own devices may be verified later; others can only request what
    /// they were given.
    private func mayAsk(
        _ asker: DeviceAddress, for subject: QuestionRecord.Subject, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        if asker.user.isExactly(me.user) { return true }
        switch subject {
        case .session(let session):
            let share: ShareRecord? = try turn.records.value(scope: session.sessionId, key: asker.key)
            return share?.outcome == .given
        case .secret: return false
        }
    }

    private mutating func isRoomForQuestion(
        of asker: DeviceAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        let counts = try count(asker, 0, &turn)
        guard counts[asker] ?? 0 < Self.questionsOfADevice else { return false }
        if counts.values.reduce(0, +) < Self.questions { return true }
        traffic.questionEpoch = nil  // some may have expired
        guard let device: DeviceRecord = try turn.records.value(scope: asker.user, key: asker.device) else {
            return false
        }
        return try isVerifiedOwn(device, &turn)
    }

    /// Changes the number of requests of a device.
    ///
    /// - Returns: The current numbers.
    @discardableResult
    private mutating func count(
        _ asker: DeviceAddress, _ change: Int, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> [DeviceAddress: Int] {
        guard var counts = traffic.questions else {
            let all = try turn.records.values(QuestionRecord.self).map(\.value)
            let counts = Dictionary(grouping: all, by: \.device).mapValues(\.count)
            traffic.questions = counts
            return counts
        }
        guard change != 0 else { return counts }
        let count = (counts[asker] ?? 0) + change
        counts[asker] = count > 0 ? count : nil
        traffic.questions = counts
        return counts
    }

    private mutating func forget(
        _ asker: DeviceAddress, _ id: String, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        turn.records.remove(.question, key: QuestionRecord.key(asker, id))
        try count(asker, -1, &turn)
    }

    // MARK: Answers

    /// Answers the requests that can be answered now.
    mutating func answerQuestions(_ turn: inout CryptoTurn) throws(EncryptionError) {
        guard traffic.questionEpoch != deviceEpoch else { return }
        traffic.questionEpoch = deviceEpoch
        var current: [QuestionRecord] = []
        for question in try turn.records.values(QuestionRecord.self).map(\.value) {
            if question.time <= turn.now, turn.now - question.time < Self.questionTime {
                current.append(question)
            } else {
                try forget(question.device, question.requestId, &turn)
            }
        }
        let groups = Dictionary(grouping: current, by: \.device).sorted { $0.key.key < $1.key.key }
        for (asker, questions) in groups where try !answer(questions, of: asker, &turn) { traffic.questionEpoch = nil }
    }

    /// - Returns: Whether nothing more can be done until a device changes.
    private mutating func answer(
        _ questions: [QuestionRecord], of asker: DeviceAddress, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> Bool {
        guard let device: DeviceRecord = try turn.records.value(scope: asker.user, key: asker.device), device.isUsable,
            !device.isSuspicious
        else { return true }
        let isOwn = asker.user.isExactly(me.user)
        let trust = try trust(of: device, &turn)
        if isOwn, !trust.isVerified {
            try tellUnverified(device, trust, questions, &turn)
            return true
        }
        var answers: [(question: QuestionRecord, type: String, content: JSONView)] = []
        for question in questions {
            if !trust.isBlocked, let answer = try answer(to: question, for: device, isOwn: isOwn, &turn) {
                answers.append((question, answer.type, answer.content))
            } else {
                try forget(asker, question.requestId, &turn)
            }
        }
        guard !answers.isEmpty else { return true }
        if try sendingChannel(with: device.keys.curve25519, &turn) == nil {
            guard hasGivenNoKey(asker, turn.now) else {
                wanted.insert(asker)
                return false
            }
            for answer in answers { try forget(asker, answer.question.requestId, &turn) }
            return true
        }
        var isDone = true
        var hour =
            try turn.records.value(HourlyCountRecord.self, scope: "answered", key: asker.key)
            ?? HourlyCountRecord()
        for answer in answers {
            guard hour.take(one: Self.answersOfAnHour, at: turn.now),
                let message = try encrypt(answer.type, answer.content, for: device.keys, &turn)
            else {
                isDone = false
                break
            }
            try post("m.room.encrypted", [(asker, message)], shares: [], &turn)
            try forget(asker, answer.question.requestId, &turn)
        }
        turn.records.set(hour, scope: "answered", key: asker.key)
        return isDone
    }

    /// - Parameter isOwn: Whether it is a verified device of ours.
    /// - Returns: The answer; `nil` if there is none.
    private func answer(
        to question: QuestionRecord, for device: DeviceRecord, isOwn: Bool, _ turn: inout CryptoTurn
    ) throws(EncryptionError) -> (type: String, content: JSONView)? {
        switch question.subject {
        case .session(let address):
            guard
                let record: InboundSessionRecord = try turn.records.value(
                    scope: address.roomId, key: address.sessionId),
                try !isWrong(address, &turn)
            else { return nil }
            if isOwn { return ("m.forwarded_room_key", try forward(record, in: address.roomId, at: nil)) }
            guard let share: ShareRecord = try turn.records.value(scope: address.sessionId, key: device.address.key),
                share.outcome == .given, share.curve25519 == device.keys.curve25519,
                record.curve25519 == account.curve25519.publicKey, share.index >= record.session.firstIndex
            else { return nil }
            return ("m.forwarded_room_key", try forward(record, in: address.roomId, at: share.index))
        case .secret(let name):
            guard isOwn, let secret = try usableSecret(name, &turn) else { return nil }
            var content = JSONWriter()
            content.add("request_id", question.requestId)
            content.add("secret", UnpaddedBase64.encode(secret))
            return ("m.secret.send", content.view)
        }
    }

    /// - Parameter index: The first index; `nil` for the first available.
    private func forward(
        _ record: InboundSessionRecord, in roomId: String, at index: UInt32?
    ) throws(EncryptionError) -> JSONView {
        let chain = record.forwarders.map { "\"\($0.base64)\"" }.joined(separator: ",")
        var content = JSONWriter()
        content.add("algorithm", Algorithm.megolm)
        content.add("room_id", roomId)
        content.add("session_id", record.session.id)
        content.add("session_key", UnpaddedBase64.encode(try record.session.exported(at: index)))
        content.add("sender_key", record.curve25519.base64)
        content.add("sender_claimed_ed25519_key", record.ed25519.base64)
        content.add("forwarding_curve25519_key_chain", json: "[" + chain + "]")
        content.add("shared_history", json: record.isSharedHistory ? "true" : "false")
        return content.view
    }

    /// Notifies one of our devices, once, that it receives no key until verified. Does not reveal whether there is one.
    private mutating func tellUnverified(
        _ device: DeviceRecord, _ trust: DeviceTrust, _ questions: [QuestionRecord], _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        let address = device.address
        guard !trust.isBlocked,
            try turn.records.value(SettingRecord.self, scope: Self.toldUnverified, key: address.device) == nil
        else { return }
        for case .session(let session) in questions.map(\.subject).prefix(1) {
            turn.records.set(SettingRecord("yes"), scope: Self.toldUnverified, key: address.device)
            var content = JSONWriter()
            content.add("algorithm", Algorithm.megolm)
            content.add("sender_key", account.curve25519.publicKey.base64)
            content.add("room_id", session.roomId)
            content.add("session_id", session.sessionId)
            content.add("code", "m.unverified")
            content.add("reason", Self.reasons["m.unverified"] ?? "")
            try post("m.room_key.withheld", [(address, content.view)], shares: [], &turn)
        }
    }
}
