/// The newest log entries, and the sequences that follow them. Confined to the server's event loop.
struct EventLog {
    typealias Entry = PusherMockServer.LogEntry

    private let limit: Int
    private let maximumSize: Int
    /// The entries; those before `start` are discarded and `nil`. Their slots are removed together, so that discarding
    /// each costs little.
    private var entries: [Entry?] = []
    private var start = 0
    /// The total bytes of the stored entries.
    private var size = 0
    private var followers: [ObjectIdentifier: LogFollower] = [:]

    /// - Parameter maximumSize: The maximum total bytes of all entries.
    init(limit: Int, maximumSize: Int) {
        self.limit = max(0, limit)
        self.maximumSize = max(0, maximumSize)
    }

    var newest: [Entry] { entries[start...].compactMap { $0 } }

    mutating func append(_ entry: Entry) {
        for follower in followers.values { follower.add(entry) }
        guard limit > 0 else { return }
        entries.append(entry)
        size += entry.size
        while entries.count - start > limit || size > maximumSize {
            size -= entries[start]?.size ?? 0
            entries[start] = nil
            start += 1
        }
        guard start > entries.count / 2 else { return }
        entries.removeFirst(start)
        start = 0
    }

    /// Adds a follower, which first receives the stored entries and then new ones.
    mutating func add(follower: LogFollower) {
        for entry in newest { follower.add(entry) }
        followers[ObjectIdentifier(follower)] = follower
    }

    mutating func remove(follower: LogFollower) {
        followers[ObjectIdentifier(follower)] = nil
    }

    mutating func finish() {
        for follower in followers.values { follower.finish() }
        followers.removeAll()
    }
}

extension PusherMockServer.LogEntry {
    /// The approximate number of bytes: the parts that a peer can make long, plus an allowance for the rest.
    var size: Int {
        let text =
            switch self {
            case .connectionRefused, .connectionClosed, .pingReceived, .pongReceived, .missed: 0
            case .connectionOpened(_, let app): app.utf8.count
            case .frameReceived(let text, _), .frameSent(let text, _): text.utf8.count
            case .subscribed(let channel, _), .unsubscribed(let channel, _): channel.utf8.count
            case .subscriptionRefused(let channel, _, let reason): channel.utf8.count + reason.utf8.count
            case .published(let event):
                event.event.utf8.count + event.channel.utf8.count + event.data.utf8.count + event.app.utf8.count
            case .webhook(let event, let app): event.utf8.count + app.utf8.count
            case .webhookSent(let body, let app, _): body.utf8.count + app.utf8.count
            case .webhookFailed(let failure): failure.app.utf8.count + failure.reason.utf8.count
            case .authRequest(let request):
                (Array(request.parameters) + Array(request.headers)).reduce(request.path.utf8.count) {
                    $0 + $1.key.utf8.count + $1.value.utf8.count + 100
                }
            case .httpRequest(let method, let path, _): method.utf8.count + path.utf8.count
            case .acceptingPaused(let reason): reason.utf8.count
            }
        return text + 100
    }
}
