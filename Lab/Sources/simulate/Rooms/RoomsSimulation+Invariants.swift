import Basics
import JSONBytes
import MatrixProtocol

/// The invariants.
extension RoomsSimulation {
    // MARK: Notices

    func told(_ applied: SessionModel.Applied, _ response: SyncResponse, upTo end: Int, before old: SessionModel) {
        let isFirst = applied.changes.replacesEverything
        if isFirst { statistics.count(.firstSyncs) }
        var counted = [Int](repeating: 0, count: RoomsSchedule.rooms)
        for notice in applied.notices {
            switch notice {
            case .gap(let roomId, _):
                statistics.count(.gaps)
                if let room = Self.room(roomId) { ledger.rooms[room].mayJump = true }
            case .live(let live):
                guard let room = Self.room(live.roomId) else { continue }
                told(live.event, in: room)
                if live.event.countsAsUnread(for: RoomsServer.me) { counted[room] += 1 }
            case .joined(let roomId):
                statistics.count(.joinings)
                guard let room = Self.room(roomId) else { continue }
                // Earlier messages and the joining itself are history.
                let joining = server.rooms[room].events.last { $0.position <= end && RoomsServer.isOwnJoining($0) }
                ledger.rooms[room].position = joining?.position ?? 0
            case .left(let roomId, _):
                statistics.count(.leavings)
                guard let room = Self.room(roomId) else { continue }
                let leaving = server.rooms[room].events.last {
                    $0.position <= end && $0.type == "m.room.member" && $0.stateKey == RoomsServer.me
                }
                // The leave event itself is delivered with this notice.
                if !isFirst { checkNothingWasMissed(in: room, upTo: leaving.map { $0.position - 1 } ?? end) }
                ledger.rooms[room] = .init(hasBeenLeft: true)
            case .toDevice(let message): told(message)
            case .ephemeral, .roomAccountData, .accountData, .presence, .invited, .knocked, .changed,
                .relationsChanged, .echoConfirmed, .unreadChanged, .summaryChanged, .directRoomsChanged,
                .ignoredUsersChanged, .decrypted, .encryption:
                break
            }
        }
        for room in 0..<RoomsSchedule.rooms {
            guard let known = model.rooms[Self.id(room)], known.summary.membership == .join else { continue }
            if isFirst {
                let before = old.rooms[Self.id(room)]
                let isNews = server.rooms[room].events.contains {
                    $0.position > ledger.rooms[room].position && $0.position <= end
                }
                if before?.summary.membership == .join, isNews {
                    check(ledger.rooms[room].mayJump, "events of room \(room) were missed, and no gap was told")
                }
                (ledger.rooms[room].position, ledger.rooms[room].mayJump) = (end, false)
            } else {
                checkNothingWasMissed(in: room, upTo: end)
                let oldCount = old.rooms[Self.id(room)]?.summary.localUnreadEventCount ?? 0
                check(
                    known.summary.localUnreadEventCount <= oldCount + counted[room],
                    "room \(room) has \(known.summary.localUnreadEventCount) unread, after \(oldCount) and \(counted[room]) new"
                )
            }
            checkLastMessage(of: room, known.summary)
            let section = response.joined.last { $0.roomId == Self.id(room) }
            if let count = section?.unread?.notificationCount {
                check(known.summary.notificationCount == count, "the server's count of room \(room) is not taken over")
            }
        }
        checkEchoes()
    }

    func told(_ message: MXToDeviceMessage) {
        statistics.count(.messages)
        let number = Int(message.event.type.dropFirst(2)) ?? 0
        // The last messages are delivered again if the process ends before their delivery is stored, or if the server
        // does not know that we have them.
        let mayComeAgain = life > 0 || server.epoch > 0
        check(
            number > ledger.lastMessage || mayComeAgain,
            "message \(number) to the device is told again, or out of order")
        ledger.messages.insert(number)
        ledger.lastMessage = max(ledger.lastMessage, number)
        toldToDevice.append(message.id)
    }

    private func told(_ event: MXEvent, in room: Int) {
        statistics.count(.events)
        // A listener does not see events again that were written before the process ended.
        let wasWritten = catchUp?.toldSince.contains(event.eventId) == true
        check(ledger.told.insert(event.eventId).inserted || wasWritten, "event \(event.eventId) is told again")
        let position = Int(event.originServerTs)
        check(position > ledger.rooms[room].position, "event \(event.eventId) is told after one that came later")
        if !ledger.rooms[room].mayJump { checkNothingWasMissed(in: room, upTo: position - 1) }
        (ledger.rooms[room].position, ledger.rooms[room].mayJump) = (position, false)
    }

    private func checkNothingWasMissed(in room: Int, upTo end: Int) {
        let missed = server.rooms[room].events.first { $0.position > ledger.rooms[room].position && $0.position <= end }
        if let missed, !ledger.rooms[room].mayJump {
            check(false, "event \(missed.id) was not told, and no gap either")
        }
        ledger.rooms[room].position = max(ledger.rooms[room].position, end)
    }

    /// Checks that a room does not lose its place in a list.
    private func checkLastMessage(of room: Int, _ summary: MXRoomSummary) {
        if summary.lastMessageId == nil, let last = ledger.rooms[room].lastMessage {
            check(server.redactions[last] != nil, "room \(room) has lost its last message")
        }
        if summary.lastMessageTs == 0, summary.paginationToken != nil {
            check(ledger.rooms[room].lastMessageTs == 0, "room \(room) has lost its place in the list")
        }
        note(summary, of: room)
    }

    /// Records an application's view of the room.
    func note(_ summary: MXRoomSummary, of room: Int) {
        (ledger.rooms[room].lastMessage, ledger.rooms[room].lastMessageTs) = (
            summary.lastMessageId, summary.lastMessageTs
        )
    }

    /// Checks that none of our own messages is there twice.
    func checkEchoes() {
        for (roomId, room) in model.rooms {
            for echo in room.outgoing {
                let events = (try? disk.events(in: roomId, before: nil, limit: 1000)) ?? []
                let double = events.first {
                    $0.eventId == echo.eventId || $0.transactionId == echo.transactionId
                }
                check(double == nil, "\(echo.transactionId) is there as an echo and as \(double?.eventId ?? "")")
            }
        }
    }

    // MARK: At rest

    func compareAtRest() {
        for room in 0..<RoomsSchedule.rooms {
            let (id, isIn) = (Self.id(room), server.isJoined(RoomsServer.me, room))
            let known = model.rooms[id]
            check((known?.summary.membership == .join) == isIn, "at rest room \(room) is \(isIn ? "not " : "")there")
            guard isIn, let known else { continue }
            for echo in known.outgoing {
                check(false, "at rest \(echo.transactionId) still stands there, \(echo.state)")
            }
            let state = try? model.state(of: id, in: disk)
            let members = Set(state?.members.joinedMembers.map(\.userId) ?? [])
            let truth = server.members(of: room)
            check(
                members == truth,
                "at rest the members of room \(room) are \(members.sorted()), and should be \(truth.sorted())")
            check(known.summary.joinedMembersCount == truth.count, "at rest room \(room) counts its members wrong")
            let topic = server.state(of: room, at: server.position)[.init("m.room.topic", "")]
            check(
                state?.event(type: "m.room.topic")?.eventId == topic?.id,
                "at rest the topic of room \(room) is an old one")
            check(
                known.summary.notificationCount == server.unread(room), "at rest room \(room) has another unread count")
            compare(known.summary.lastMessageId, in: room)
        }
        for message in server.toDevice {
            check(ledger.messages.contains(message), "message \(message) to the device was never told")
        }
        for (transaction, room) in ledger.sent {
            let count = server.rooms[room].events.count { $0.transaction == transaction }
            let isIn = model.rooms[Self.id(room)] != nil
            check(count <= 1, "\(transaction) was sent \(count) times")
            check(count == 1 || !isIn || ledger.rooms[room].hasBeenLeft, "\(transaction) was never sent")
        }
    }

    /// Checks that it is the newest stored one, or one from before a gap if none is stored.
    private func compare(_ lastMessage: String?, in room: Int) {
        let stored = ((try? disk.events(in: Self.id(room), before: nil, limit: 1000)) ?? []).map(\.eventId)
        guard let truth = server.lastMessage(of: room)?.id else {
            return check(lastMessage == nil, "room \(room) has a last message that is gone")
        }
        if stored.contains(truth) || model.rooms[Self.id(room)]?.summary.paginationToken == nil {
            check(lastMessage == truth, "the last message of room \(room) is \(lastMessage ?? "none"), not \(truth)")
        }
    }

    func compareHistory() {
        for room in 0..<RoomsSchedule.rooms {
            let id = Self.id(room)
            guard let known = model.rooms[id], known.summary.membership == .join else { continue }
            check(known.summary.paginationToken == nil, "the history of room \(room) does not end")
            let events = Array(((try? disk.events(in: id, before: nil, limit: 1000)) ?? []).reversed())
            let truth = server.rooms[room].events
            check(
                events.map(\.eventId) == truth.map(\.id),
                "the timeline of room \(room) is \(events.map(\.eventId)), and should be \(truth.map(\.id))")
            compare(known.summary.lastMessageId, in: room)
            for (event, original) in zip(events, truth) where event.eventId == original.id {
                check(
                    event.isRedacted == (server.redactions[original.id] != nil),
                    "\(original.id) is \(event.isRedacted ? "" : "not ")redacted")
                if server.isShown(original) { compareRelations(of: event, original, in: room) }
            }
        }
    }

    private func compareRelations(of event: MXEvent, _ original: RoomsServer.Event, in room: Int) {
        let id = Self.id(room)
        if model.needsRelations(of: event.eventId, in: id),
            let relations = try? disk.relations(to: event.eventId, in: id)
        {
            model.add(relations: [event.eventId: relations], ofEach: [event.eventId], in: id)
        }
        let index = model.rooms[id]?.relations
        let known = index?.aggregations(forEvent: event.eventId, original: event, currentUser: RoomsServer.me)
        let count = known?.reactions?.values.reduce(0) { $0 + $1.count } ?? 0
        let truth = server.reactions(to: original.id, in: room)
        check(count == truth, "\(original.id) has \(truth) reactions, and \(count) are known")
        guard original.transaction == nil else { return }
        let body = index?.edited(event).contentJSON["body"]?.string
        check(
            body == server.body(of: original, in: room),
            "\(original.id) reads \(body ?? "nothing"), and should read \(server.body(of: original, in: room))")
    }

    func compareCounts() {
        for room in 0..<RoomsSchedule.rooms {
            guard let known = model.rooms[Self.id(room)], known.summary.membership == .join else { continue }
            let count = server.unread(room)
            check(
                known.summary.localUnreadEventCount == count && known.summary.notificationCount == count,
                "room \(room) has \(count) unread, and \(known.summary.localUnreadEventCount) are counted")
        }
    }
}
