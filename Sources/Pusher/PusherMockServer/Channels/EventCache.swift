import Basics

/// The last event of each cache channel, for later subscribers. Pusher protocol, "Cache channels".
struct EventCache {
    struct Entry: Hashable {
        let event: String
        let data: String
        let expiry: MonotonicInstant
    }

    private let lifetime: Duration
    private var entries: [String: Entry] = [:]
    private var nextPurge: MonotonicInstant?

    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    func entry(of channel: String, now: MonotonicInstant) -> Entry? {
        entries[channel].flatMap { $0.expiry > now ? $0 : nil }
    }

    mutating func keep(event: String, data: String, of channel: String, now: MonotonicInstant) {
        if let nextPurge, now >= nextPurge {
            entries = entries.filter { $0.value.expiry > now }
            self.nextPurge = nil
        }
        nextPurge = nextPurge ?? now + lifetime
        entries[channel] = Entry(event: event, data: data, expiry: now + lifetime)
    }
}
