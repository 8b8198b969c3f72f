import Basics
import CurlTransport
import Foundation
import MatrixProtocol

/// Actions of the application, carried out like `SendQueue` and `SessionCore`.
extension RoomsSimulation {
    private static let latency = Duration.milliseconds(5)

    func make(_ call: RoomsSchedule.Call, in room: Int) {
        guard !ledger.isClosed, let known = model.rooms[Self.id(room)], known.summary.membership == .join else {
            return
        }
        switch call {
        case .send: send(room, "m.room.message", #"{"msgtype":"m.text","body":"sent"}"#)
        case .react:
            let events = (try? disk.events(in: known.summary.roomId, before: nil, limit: 6)) ?? []
            let shown = events.filter { $0.type == "m.room.message" && !$0.isEdit && !$0.isRedacted }
            guard !shown.isEmpty else { return }
            let content = RoomsServer.reaction(to: random.pick(shown).eventId, "o\(ledger.lastTransaction)")
            send(room, "m.reaction", content)
        case .resend:
            guard let failed = known.outgoing.first(where: { $0.state == .failed }),
                let event = model.resume(outgoing: failed.localEventId, in: failed.roomId)
            else { return }
            statistics.count(.resent)
            commit(outgoing: event)
            put(event, room)
        case .giveUp:
            guard let failed = known.outgoing.first(where: { $0.state == .failed }) else { return }
            model.removeOutgoing(failed)
            ledger.sent[failed.transactionId] = nil
            var changes = MXStoreChanges()
            changes.sentOutgoing = [failed.transactionId]
            commit(changes)
        case .read: read(room)
        case .page: page(room, limit: 1 + random.below(5))
        case .loadMembers: loadMembers(room)
        case .trim:
            guard let token = (try? disk.trimTimeline(of: known.summary.roomId)) ?? nil else { return }
            statistics.count(.trims)
            model.trimmed(known.summary.roomId, token: token)
        }
    }

    private func commit(outgoing event: MXOutgoingEvent) {
        var changes = MXStoreChanges()
        changes.outgoing = [event]
        commit(changes)
    }

    /// Makes a request. It takes effect when it arrives; only the process that made it gets the answer.
    private func ask(
        _ act: @escaping @NetworkActor () -> Void, _ answered: @escaping @NetworkActor (_ isThere: Bool) -> Void
    ) {
        let asking = life
        func answer(_ isThere: Bool, after wait: Duration) {
            after(wait) { [unowned self] in if life == asking, !ledger.isClosed { answered(isThere) } }
        }
        switch fate {
        case .requestLost: answer(false, after: .seconds(1))
        case .fine, .answerLost, .late:
            let fate = fate
            after(Self.latency) {
                act()
                switch fate {
                case .fine, .requestLost: answer(true, after: Self.latency)
                case .answerLost: answer(false, after: .seconds(1))
                case .late(let wait): answer(true, after: wait)
                }
            }
        }
    }

    // MARK: Sending

    private func send(_ room: Int, _ type: String, _ content: String) {
        statistics.count(.sent)
        ledger.lastTransaction += 1
        let transaction = "m\(ledger.lastTransaction)"
        let event = MXOutgoingEvent(
            transactionId: transaction, roomId: Self.id(room), type: type, content: content,
            localEventId: MXEvent.localEventIdPrefix + transaction, ts: 1, state: .preparing)
        ledger.sent[transaction] = room
        model.add(outgoing: event)
        commit(outgoing: event)
        put(event, room)
    }

    private func put(_ event: MXOutgoingEvent, _ room: Int) {
        var event = event
        event.state = .sending
        guard let updated = model.update(outgoing: event) else { return }
        commit(outgoing: updated)
        var id: String?
        ask(
            { [unowned self] in
                id = server.send(room, event.type, event.content, transaction: event.transactionId)
                log("the server has \(event.transactionId) as \(id ?? "nothing")")
                answerIfThereIsNews()
            },
            { [unowned self] isThere in
                if isThere, let id { confirm(event, as: id) } else { fail(event) }
            })
    }

    private func confirm(_ event: MXOutgoingEvent, as id: String) {
        log("\(event.transactionId) is confirmed as \(id)")
        statistics.count(.confirmed)
        let stored = (try? disk.knownEvents(among: [id], in: event.roomId)) ?? []
        if let changes = model.confirm(event, as: id, isStored: !stored.isEmpty) { commit(changes) }
        checkEchoes()
    }

    private func fail(_ event: MXOutgoingEvent) {
        var event = event
        event.state = .failed
        guard let failed = model.update(outgoing: event) else { return }
        log("\(event.transactionId) fails")
        statistics.count(.failed)
        commit(outgoing: failed)
    }

    // MARK: Reading

    private func read(_ room: Int) {
        guard let last = (try? disk.events(in: Self.id(room), before: nil, limit: 1))?.first else { return }
        let position = Int(last.originServerTs)
        ledger.receipts.insert(room)
        ask(
            { [unowned self] in
                server.read(room, upTo: position)
                answerIfThereIsNews()
            },
            { [unowned self] isThere in
                guard isThere else { return }
                ledger.receipts.remove(room)
                do throws(MatrixError) {
                    let changes = try model.tookReceipt(Self.id(room), upTo: last.eventId, threadId: nil, in: disk)
                    if let changes { commit(changes) }
                } catch {
                    check(false, "a receipt cannot be taken over: \(error)")
                }
            })
    }

    // MARK: History and members

    func page(_ room: Int, limit: Int, _ done: @escaping @NetworkActor () -> Void = {}) {
        let roomId = Self.id(room)
        guard let token = model.rooms[roomId]?.summary.paginationToken else { return }
        var answer: (chunk: [String], members: [String], end: String?)?
        ask(
            { [unowned self] in answer = server.messages(room, from: token, limit: limit) },
            { [unowned self] isThere in
                guard isThere, let answer else { return }
                guard model.rooms[roomId]?.summary.paginationToken == token else { return done() }
                statistics.count(.pages)
                do {
                    let chunk = events(answer.chunk, in: roomId)
                    let known = try disk.knownEvents(among: chunk.map(\.eventId), in: roomId)
                    _ = try model.state(of: roomId, in: disk)
                    let last = try model.rooms[roomId]?.summary.lastMessageId.flatMap { try disk.event($0, in: roomId) }
                    let changes = model.paginated(
                        roomId, older: chunk.filter { !known.contains($0.eventId) }, token: answer.end,
                        members: events(answer.members, in: roomId), hasLastMessage: last != nil)
                    commit(changes)
                } catch {
                    check(false, "a page cannot be taken over: \(error)")
                }
                log("page of \(roomId): \(answer.chunk.count) events, then \(answer.end ?? "nothing")")
                checkEchoes()
                done()
            })
    }

    private func events(_ texts: [String], in roomId: String) -> [MXEvent] {
        texts.compactMap { MXEvent(data: Data($0.utf8), roomId: roomId) }
    }

    private func loadMembers(_ room: Int) {
        let roomId = Self.id(room)
        guard model.rooms[roomId]?.summary.membersAreComplete == false else { return }
        let (token, origin) = (model.syncToken, model.rooms[roomId]?.origin)
        guard let before = try? model.state(of: roomId, in: disk)?.members else { return }
        var list: [String] = []
        ask(
            { [unowned self] in list = server.members(room, at: token) },
            { [unowned self] isThere in
                guard isThere, (try? model.state(of: roomId, in: disk)) != nil else { return }
                statistics.count(.memberLists)
                let changes = model.membersLoaded(roomId, events(list, in: roomId), before: before, of: origin)
                if let changes { commit(changes) }
            })
    }
}
