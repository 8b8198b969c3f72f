/// The server's answers.
extension RoomsServer {
    /// The filter of a request for events.
    struct Filter {
        var limit = 3
        var isLazy = true
    }

    struct SyncAnswer {
        let text: String
        /// The point of the stream at which it ends.
        let position: Int
    }

    func token(_ position: Int) -> String { "s\(epoch)-\(position)" }

    /// - Returns: `nil` for a point of another stream.
    func position(of token: String) -> Int? {
        let parts = token.dropFirst().split(separator: "-").compactMap { Int($0) }
        return parts.count == 2 && parts[0] == epoch ? parts[1] : nil
    }

    func hasNews(since token: String?) -> Bool {
        guard let token, let since = position(of: token) else { return true }
        return since < position
    }

    /// - Returns: `nil` if the token is unknown.
    mutating func sync(since token: String?, _ filter: Filter) -> SyncAnswer? {
        let since = token.flatMap { position(of: $0) }
        if token != nil, since == nil { return nil }
        received = max(received, since ?? 0)
        var (joined, left): ([String], [String]) = ([], [])
        for room in rooms.indices {
            guard let part = part(of: room, since: since) else { continue }
            let text = section(room, part, since: since, filter)
            if part.isLeft { left.append(text) } else { joined.append(text) }
        }
        let messages = toDevice.filter { $0 > received }.map { #"{"type":"m.\#($0)","sender":"@o:s","content":{}}"# }
        let text =
            #"{"next_batch":"\#(self.token(position))","rooms":{"join":{\#(joined.joined(separator: ","))},"#
            + #""leave":{\#(left.joined(separator: ","))}},"to_device":{"events":[\#(messages.joined(separator: ","))]}}"#
        return SyncAnswer(text: text, position: position)
    }

    // MARK: Rooms

    /// The part of an answer about a room.
    private struct Part {
        var events: ArraySlice<Event>
        /// Whether it contains the whole state.
        var isWhole = false
        var isLeft = false
        var isRejoining = false
    }

    private func part(of room: Int, since: Int?) -> Part? {
        let events = rooms[room].events
        let isIn = isJoined(Self.me, room)
        guard let since else { return isIn ? Part(events: events[...], isWhole: true) : nil }
        let news = events[(events.firstIndex { $0.position > since } ?? events.endIndex)...]
        let own = news.filter { $0.type == "m.room.member" && $0.stateKey == Self.me }
        let wasIn = isJoined(Self.me, room, at: since)
        if isIn {
            if !wasIn || !own.allSatisfy(Self.joins) {
                return Part(events: events[...], isWhole: true, isRejoining: true)
            }
            return news.isEmpty && rooms[room].read.stream <= since ? nil : Part(events: news)
        }
        guard wasIn || !own.isEmpty, let leaving = own.last else { return nil }
        return Part(events: news.prefix { $0.position <= leaving.position }, isLeft: true)
    }

    private func section(_ room: Int, _ part: Part, since: Int?, _ filter: Filter) -> String {
        let timeline = part.events.suffix(filter.limit)
        let isLimited = part.events.count > filter.limit || part.isRejoining && marksRejoinings
        let start = (timeline.first?.position ?? position + 1) - 1
        var state: [Event] = []
        let before = self.state(of: room, at: start)
        let senders = Set(timeline.map(\.sender)).union([Self.me])
        for event in before.values {
            let isMember = event.type == "m.room.member"
            let isNeeded = !filter.isLazy || !isMember || senders.contains(event.stateKey ?? "")
            let isNews = event.position > (since ?? 0) && part.events.count > filter.limit
            if part.isWhole ? isNeeded : isNews || filter.isLazy && isMember && isNeeded { state.append(event) }
        }
        state.sort { $0.position < $1.position }
        let receipt =
            rooms[room].read.stream > since ?? 0
            ? rooms[room].events.first { $0.position == rooms[room].read.event } : nil
        let ephemeral = receipt.map {
            #"{"type":"m.receipt","content":{"\#($0.id)":{"m.read":{"\#(Self.me)":{"ts":1}}}}}"#
        }
        return #""!\#(room):s":{"state":{"events":[\#(state.map(json).joined(separator: ","))]},"#
            + #""timeline":{"events":[\#(timeline.map(json).joined(separator: ","))],"limited":\#(isLimited),"#
            + #""prev_batch":"\#(token(start))"},"ephemeral":{"events":[\#(ephemeral ?? "")]},"#
            + #""summary":{"m.joined_member_count":\#(members(of: room).count),"m.invited_member_count":0},"#
            + #""unread_notifications":{"notification_count":\#(unread(room)),"highlight_count":0}}"#
    }

    // MARK: History and members

    /// Newest first.
    func messages(_ room: Int, from token: String, limit: Int) -> (chunk: [String], members: [String], end: String?) {
        // An older stream's points are valid here: only those of syncs are checked.
        let from = token.split(separator: "-").last.flatMap { Int($0) } ?? 0
        let events = rooms[room].events.filter { $0.position <= from }
        let chunk = events.suffix(limit)
        let end = chunk.first.map { $0.position - 1 }
        let state = state(of: room, at: end ?? 0)
        let members = Set(chunk.map(\.sender)).compactMap { state[Key("m.room.member", $0)] }
        let hasMore = chunk.count < events.count
        return (chunk.reversed().map(json), members.map(json), hasMore ? end.map { self.token($0) } : nil)
    }

    /// All members except those who have left.
    func members(_ room: Int, at token: String?) -> [String] {
        let at = token.flatMap { position(of: $0) } ?? position
        return state(of: room, at: at).values.filter { $0.type == "m.room.member" && Self.joins($0) }.map(json)
    }

    func json(_ event: Event) -> String {
        let redaction = redactions[event.id]
        var unsigned: [String] = []
        if let transaction = event.transaction, namesTransactions {
            unsigned.append(#""transaction_id":"\#(transaction)""#)
        }
        if let prevContent = event.prevContent { unsigned.append(#""prev_content":\#(prevContent)"#) }
        if let redaction {
            unsigned.append(
                #""redacted_because":{"type":"m.room.redaction","event_id":"\#(redaction.id)","content":{}}"#)
        }
        let stateKey = event.stateKey.map { #","state_key":"\#($0)""# } ?? ""
        let redacts = event.redacts.map { #","redacts":"\#($0)""# } ?? ""
        return #"{"type":"\#(event.type)","event_id":"\#(event.id)","sender":"\#(event.sender)","#
            + #""origin_server_ts":\#(event.position),"content":\#(redaction == nil ? event.content : "{}"),"#
            + #""unsigned":{\#(unsigned.joined(separator: ","))}\#(stateKey)\#(redacts)}"#
    }
}
