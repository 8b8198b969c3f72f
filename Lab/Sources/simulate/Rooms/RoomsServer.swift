/// A homeserver that knows the truth: rooms with their whole timelines, and their members at any time.
struct RoomsServer {
    struct Event {
        let id: String
        /// The position in the stream of all rooms.
        let position: Int
        let type: String
        let sender: String
        var stateKey: String?
        /// JSON text.
        let content: String
        var prevContent: String?
        var transaction: String?
        var redacts: String?
        /// The event that it reacts to or edits.
        var target: String?
    }

    struct Room {
        var events: [Event] = []
        /// The positions of the last event that we have read, and of its receipt.
        var read = (event: 0, stream: 0)
    }

    static let me = "@me:s"
    static let others = (0..<5).map { "@o\($0):s" }

    var rooms: [Room] = []
    /// The redaction of each redacted event.
    var redactions: [String: Event] = [:]
    /// Positions of messages to our device.
    private(set) var toDevice: [Int] = []
    /// The position up to which a request has confirmed them.
    var received = 0
    private(set) var position = 0
    /// Tokens of other streams are unknown.
    private(set) var epoch = 0
    /// Whether our own events are returned with their transaction IDs.
    var namesTransactions = true
    /// Whether the timeline of a rejoined room always starts with a gap, as in Synapse.
    var marksRejoinings = true

    init() {
        for room in 0..<RoomsSchedule.rooms {
            rooms.append(Room())
            add(room, "m.room.create", by: Self.others[0], #"{"room_version":"10"}"#, stateKey: "")
            for user in Self.others[...2] { setMembership("join", of: user, in: room) }
            if room < RoomsSchedule.rooms - 1 { setMembership("join", of: Self.me, in: room) }
            add(room, "m.room.topic", by: Self.others[0], #"{"topic":"none"}"#, stateKey: "")
        }
    }

    // MARK: Events

    @discardableResult
    mutating func add(
        _ room: Int, _ type: String, by sender: String, _ content: String, stateKey: String? = nil,
        _ change: (inout Event) -> Void = { _ in }
    ) -> Event {
        position += 1
        var event = Event(
            id: "$\(room)-\(position)", position: position, type: type, sender: sender, stateKey: stateKey,
            content: content)
        if let stateKey { event.prevContent = state(of: room, at: position)[Key(type, stateKey)]?.content }
        change(&event)
        rooms[room].events.append(event)
        return event
    }

    mutating func setMembership(_ membership: String, of user: String, in room: Int, name: String? = nil) {
        let name = name.map { #","displayname":"\#($0)""# } ?? ""
        add(room, "m.room.member", by: user, #"{"membership":"\#(membership)"\#(name)}"#, stateKey: user)
    }

    @discardableResult
    mutating func say(_ room: Int, by sender: String) -> Event {
        add(room, "m.room.message", by: sender, #"{"msgtype":"m.text","body":"\#(position + 1)"}"#)
    }

    mutating func react(_ room: Int, to target: String, by sender: String) {
        let content = Self.reaction(to: target, "k\(position % 3)")
        let isThere = rooms[room].events.contains {
            $0.sender == sender && $0.content == content && redactions[$0.id] == nil
        }
        if !isThere { add(room, "m.reaction", by: sender, content) { $0.target = target } }
    }

    static func reaction(to target: String, _ key: String) -> String {
        #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"\#(target)","key":"\#(key)"}}"#
    }

    mutating func edit(_ room: Int, _ target: Event) {
        let content =
            #"{"msgtype":"m.text","body":"* e","m.new_content":{"msgtype":"m.text","body":"edit \#(position + 1)"},"#
            + #""m.relates_to":{"rel_type":"m.replace","event_id":"\#(target.id)"}}"#
        add(room, "m.room.message", by: target.sender, content) { $0.target = target.id }
    }

    mutating func redact(_ room: Int, _ target: Event) {
        guard redactions[target.id] == nil else { return }
        redactions[target.id] = add(room, "m.room.redaction", by: Self.others[0], "{}") { $0.redacts = target.id }
    }

    mutating func read(_ room: Int, upTo event: Int) {
        guard event > rooms[room].read.event else { return }
        position += 1
        rooms[room].read = (event, position)
    }

    mutating func sendToDevice() {
        position += 1
        toDevice.append(position)
    }

    mutating func reset() { epoch += 1 }

    /// Handles a request to send; a known transaction ID changes nothing.
    ///
    /// - Returns: The event's ID; `nil` if we are not in the room.
    mutating func send(_ room: Int, _ type: String, _ content: String, transaction: String) -> String? {
        if let known = rooms[room].events.first(where: { $0.transaction == transaction }) { return known.id }
        guard isJoined(Self.me, room) else { return nil }
        let target = content.contains("m.annotation") ? content.split(separator: "\"")[9] : nil
        return add(room, type, by: Self.me, content) {
            ($0.transaction, $0.target) = (transaction, target.map(String.init))
        }.id
    }

    // MARK: The truth

    struct Key: Hashable {
        let type: String
        let key: String

        init(_ type: String, _ key: String) { (self.type, self.key) = (type, key) }
    }

    func state(of room: Int, at position: Int) -> [Key: Event] {
        var state: [Key: Event] = [:]
        for event in rooms[room].events where event.position <= position {
            if let key = event.stateKey { state[Key(event.type, key)] = event }
        }
        return state
    }

    func isJoined(_ user: String, _ room: Int, at position: Int? = nil) -> Bool {
        let position = position ?? self.position
        let member = rooms[room].events.last {
            $0.type == "m.room.member" && $0.stateKey == user && $0.position <= position
        }
        return member.map(Self.joins) ?? false
    }

    static func joins(_ event: Event) -> Bool { event.content.contains(#""membership":"join""#) }

    /// Whether the event is our own joining, not a change of our name.
    static func isOwnJoining(_ event: Event) -> Bool {
        event.type == "m.room.member" && event.stateKey == me && joins(event)
            && event.prevContent?.contains(#""membership":"join""#) != true
    }

    func members(of room: Int) -> Set<String> {
        Set(state(of: room, at: position).values.filter { $0.type == "m.room.member" && Self.joins($0) }.map(\.sender))
    }

    /// Whether the event is a message and not an edit.
    static func isMessage(_ event: Event) -> Bool { event.type == "m.room.message" && event.target == nil }

    func isShown(_ event: Event) -> Bool { Self.isMessage(event) && redactions[event.id] == nil }

    func lastMessage(of room: Int) -> Event? {
        rooms[room].events.last { isShown($0) || Self.isOwnJoining($0) && redactions[$0.id] == nil }
    }

    func unread(_ room: Int) -> Int {
        let events = rooms[room].events
        let own = events.last { $0.sender == Self.me && Self.isMessage($0) || Self.isOwnJoining($0) }?.position ?? 0
        let start = max(own, rooms[room].read.event)
        return events.count { $0.position > start && $0.sender != Self.me && isShown($0) }
    }

    func reactions(to target: String, in room: Int) -> Int {
        let reactions = rooms[room].events.filter {
            $0.type == "m.reaction" && $0.target == target && redactions[$0.id] == nil
        }
        return Set(reactions.map { $0.sender + $0.content }).count
    }

    /// The current text of a message.
    func body(of event: Event, in room: Int) -> String {
        let edit = rooms[room].events.last {
            $0.type == "m.room.message" && $0.target == event.id && redactions[$0.id] == nil
        }
        return edit.map { "edit \($0.position)" } ?? "\(event.position)"
    }
}
