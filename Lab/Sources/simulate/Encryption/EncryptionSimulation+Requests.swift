import Basics
import CurlTransport
import EncryptionTestSupport
import JSONBytes
import MatrixEncryption

extension EncryptionSimulation {
    // MARK: Syncs

    /// Answers pending requests of clients for which there is something new.
    func news() {
        for client in clients { sync(client) }
    }

    func sync(_ client: EncryptionClient) {
        guard client.isSyncing, !client.isAsking, !client.isLoggedOut,
            client.stored.token != server.now(of: client.address)
        else { return }
        client.isAsking = true
        let life = client.life
        exchange(client) { [unowned self] in
            server.sync(client.address, since: client.stored.token, limit: schedule.options.limit)
        } onAnswer: { [unowned self] answer in
            client.isAsking = false
            if let answer {
                apply(answer, to: client)
                sync(client)
            } else {
                after(.seconds(1)) { [unowned self] in if client.life == life { sync(client) } }
            }
        }
    }

    private func apply(_ answer: EncryptionServer.SyncAnswer, to client: EncryptionClient) {
        statistics.count(.syncs)
        if answer.rooms.contains(where: \.isLimited) { statistics.count(.limited) }
        turn(client) { machine, turn, stored in
            try machine.receive(answer.encryption, &turn)
            for room in answer.left { stored.rooms[room] = nil }
            for room in answer.rooms {
                stored.rooms[room.room] = room.state
                try machine.noteEncryption(of: EncryptionServer.id(room.room), settings, &turn)
                for event in room.messages where stored.told.insert(event.eventId).inserted {
                    if try read(event, client.address, &machine, &turn, &stored) { statistics.count(.reads) }
                }
            }
            stored.token = answer.token
        }
        pump(client)
        for room in 0..<EncryptionSchedule.rooms { send(in: room, client) }
    }

    private var settings: JSONView {
        object {
            $0.add("algorithm", "m.megolm.v1.aes-sha2")
            $0.add("rotation_period_msgs", json: "\(schedule.options.rotation)")
        }
    }

    // MARK: Requests of machines

    /// Sends the machine's pending requests.
    func pump(_ client: EncryptionClient) {
        guard !client.isLoggedOut else { return }
        let life = client.life
        let requests = turn(client) { try $0.requests(&$1) } ?? []
        guard client.life == life else { return }
        if case .beforeSending = client.end, !requests.isEmpty {
            statistics.count(.unsent)
            return restart(client)
        }
        for request in requests { send(request, client) }
        guard let retry = client.machine.nextRetry else { return }
        let wait = Duration.milliseconds(retry > milliseconds ? retry - milliseconds : 1)
        after(wait) { [unowned self] in
            if client.life == life, client.machine.nextRetry == retry { pump(client) }
        }
    }

    private func send(_ request: CryptoRequest, _ client: EncryptionClient) {
        exchange(client) { [unowned self] in
            noteChannels(request, client)
            let answer = Result { try server.keys.answer(request, from: client.address) }
            news()
            return answer
        } onAnswer: { [unowned self] answer in
            turn(client) { machine, turn in
                switch answer {
                case .success(let answer): try machine.answered(request.id, answer, &turn)
                case .failure(let error):
                    let refusal = error as? ServerRefusal
                    try machine.failed(
                        request.id, isFinal: refusal?.isFinal ?? false, code: refusal?.code ?? "", &turn)
                case nil: try machine.failed(request.id, isFinal: false, &turn)
                }
            }
            pump(client)
            for room in 0..<EncryptionSchedule.rooms { send(in: room, client) }
        }
    }

    /// Makes one request, subject to the schedule. Only the process that made it gets the answer.
    private func exchange<Answer: Sendable>(
        _ client: EncryptionClient, _ serve: @escaping @Sendable @NetworkActor () -> Answer,
        onAnswer: @escaping @Sendable @NetworkActor (Answer?) -> Void
    ) {
        let life = client.life
        let fate = client.fates.isEmpty ? .fine : client.fates.removeFirst()
        let answer: @Sendable @NetworkActor (Answer?, Duration) -> Void = { [unowned self] answer, wait in
            after(wait) { if client.life == life { onAnswer(answer) } }
        }
        var wait = random.seconds(0.001...0.05)
        switch fate {
        case .fine: break
        case .requestLost:
            statistics.count(.lost)
            return answer(nil, .seconds(1))
        case .answerLost:
            statistics.count(.lost)
            after(wait) { if !client.isLoggedOut { _ = serve() } }
            return answer(nil, .seconds(1))
        case .late(let duration): wait = duration
        }
        after(wait) { [unowned self] in
            guard !client.isLoggedOut else { return }
            let value = serve()
            answer(value, random.seconds(0.001...0.05))
        }
    }

    // MARK: Messages

    /// - Parameter isCalm: Whether there are no faults and everyone is up to date.
    func say(in room: Int, _ client: EncryptionClient, isCalm: Bool = false) {
        guard client.stored.rooms[room] != nil else { return }
        ledger.lastTransaction += 1
        let id = "t\(ledger.lastTransaction)"
        if isCalm {
            let readers = server.state(of: room).readers
            let devices = clients.filter { !$0.isLoggedOut && readers.contains($0.address.user) }.map(\.address)
            ledger.calm["$" + id] = Set(devices).subtracting([client.address])
        }
        turn(client) { _, _, stored in stored.outgoing.append(.init(room: room, transactionId: id)) }
        send(in: room, client)
    }

    /// Sends the first pending message of the room, once all recipients have its key.
    func send(in room: Int, _ client: EncryptionClient) {
        guard !client.isLoggedOut, !client.sending.contains(room),
            let outgoing = client.stored.outgoing.first(where: { $0.room == room })
        else { return }
        if let content = outgoing.content { return deliver(outgoing, content, client) }
        guard let state = client.stored.rooms[room] else { return drop(outgoing, client) }
        let life = client.life
        let began = client.waits[room] ?? now
        let hasWaited = now - began >= .seconds(10)
        let target = RoomToEncrypt(
            roomId: EncryptionServer.id(room), members: state.readers, invited: state.invitedReaders,
            isSharedHistory: state.isShared)
        let readiness = turn(client) { try $0.prepare(target, hasWaited: hasWaited, &$1) }
        guard client.life == life else { return }
        if readiness == .ready {
            client.waits[room] = nil
            encrypt(outgoing, for: state, isIncomplete: hasWaited, client)
        } else if client.waits[room] == nil {
            client.waits[room] = now
            after(.seconds(10)) { [unowned self] in if client.life == life { send(in: room, client) } }
        }
        if client.life == life { pump(client) }
    }

    private func encrypt(
        _ outgoing: EncryptionClient.Outgoing, for state: EncryptionServer.RoomState, isIncomplete: Bool,
        _ client: EncryptionClient
    ) {
        let text = "text of \(outgoing.transactionId)"
        let made = turn(client) { machine, turn, stored -> (JSONView, Set<DeviceAddress>)? in
            let content = try machine.encrypt(
                "m.room.message", object { $0.add("body", text) }, for: EncryptionServer.id(outgoing.room), &turn)
            var (audience, blocked): (Set<DeviceAddress>, Set<DeviceAddress>) = ([], [])
            for user in state.readers {
                for device in try machine.devices(of: user, &turn) where device.address != client.address {
                    if device.trust == .blocked {
                        blocked.insert(device.address)
                    } else {
                        audience.insert(device.address)
                    }
                }
            }
            guard let index = stored.outgoing.firstIndex(where: { $0.transactionId == outgoing.transactionId }) else {
                return nil
            }
            stored.outgoing[index].content = content
            if let all = ledger.calm["$" + outgoing.transactionId] {
                check(all == audience.union(blocked), "\(client.address.device) knows only \(audience), not \(all)")
            }
            return (content, audience)
        }
        guard let (content, audience) = made ?? nil else { return }
        statistics.count(.messages)
        if isIncomplete { statistics.count(.incomplete) }
        ledger.messages["$" + outgoing.transactionId] = .init(
            text: text, sender: client.address, room: outgoing.room, audience: audience, isIncomplete: isIncomplete)
        noteSession(content)
        log("  \(client.address.device) encrypts \(outgoing.transactionId) for \(audience.map(\.device).sorted())")
        if case .beforeSending = client.end {
            statistics.count(.unsent)
            return restart(client)
        }
        deliver(outgoing, content, client)
    }

    private func deliver(_ outgoing: EncryptionClient.Outgoing, _ content: JSONView, _ client: EncryptionClient) {
        let (room, life) = (outgoing.room, client.life)
        client.sending.insert(room)
        let event = EncryptedEvent(
            roomId: EncryptionServer.id(room), eventId: "$" + outgoing.transactionId, sender: client.address.user,
            time: milliseconds, isState: false, content: content)
        exchange(client) { [unowned self] in
            guard server.state(of: room).members[client.address.user] == .join else { return }
            _ = server.send(event, to: room, transactionId: outgoing.transactionId)
            news()
        } onAnswer: { [unowned self] answer in
            client.sending.remove(room)
            if answer != nil {
                drop(outgoing, client)
            } else {
                after(.seconds(2)) { [unowned self] in if client.life == life { send(in: room, client) } }
            }
        }
    }

    /// Removes a message that was sent, or that never will be because its user has left the room.
    private func drop(_ outgoing: EncryptionClient.Outgoing, _ client: EncryptionClient) {
        client.waits[outgoing.room] = nil
        turn(client) { _, _, stored in stored.outgoing.removeAll { $0.transactionId == outgoing.transactionId } }
        send(in: outgoing.room, client)
    }

    // MARK: Ratchets

    /// Checks that no ratchet key is used for two messages.
    private func note(_ ciphertext: String, under key: String) {
        check(ledger.ratchets[key] ?? ciphertext == ciphertext, "a key is used twice: \(key)")
        ledger.ratchets[key] = ciphertext
    }

    private func noteSession(_ content: JSONView) {
        guard let id = content["session_id"]?.string, let text = content["ciphertext"]?.string,
            let message = try? MegolmMessage(UnpaddedBase64.decode(text))
        else { return check(false, "a message is none") }
        note(text, under: "\(id) \(message.index)")
    }

    private func noteChannels(_ request: CryptoRequest, _ client: EncryptionClient) {
        guard case .sendToDevice("m.room.encrypted", _) = request.call, let body = JSONView(Array(request.body.utf8))
        else { return }
        for (_, devices) in body["messages"]?.members ?? [] {
            for (_, content) in devices.members {
                for (key, part) in content["ciphertext"]?.members ?? [] {
                    statistics.count(.sharings)
                    guard let text = part["body"]?.string, let type = part["type"]?.int,
                        let message = try? inner(OlmMessage(type: type, body: text))
                    else { return check(false, "a message to \(key) is none") }
                    note(text, under: "\(message.ratchetKey.base64) \(message.index)")
                }
            }
        }
    }

    private func inner(_ message: OlmMessage) throws -> OlmNormalMessage {
        switch message {
        case .preKey(let bytes): try OlmNormalMessage(OlmPreKeyMessage(bytes).inner)
        case .normal(let bytes): try OlmNormalMessage(bytes[...])
        }
    }
}
