import Basics
import MatrixProtocol
import Realtime

/// A room's events in order.
struct MemoryTimeline {
    private struct Entry {
        var event: MXEvent
        var relation: String?
        /// The token at which the server's history continues before this event.
        var token: String?

        init(_ event: MXEvent, token: String?) {
            (self.event, relation, self.token) = (event, event.storedRelation, token)
        }
    }

    /// The newer events, oldest first.
    private var live: [Entry] = []
    /// The events before ``live``, newest first.
    private var older: [Entry] = []
    /// The events' indices: in ``live`` from 0 up, in ``older`` from -1 down.
    private var places: [ByteKey: Int] = [:]

    subscript(eventId: String) -> MXEvent? {
        places[ByteKey(eventId)].map { entry(at: $0).event }
    }

    private func entry(at place: Int) -> Entry { place < 0 ? older[-1 - place] : live[place] }

    mutating func append(_ events: [MXEvent], token: String?) {
        for (index, event) in events.enumerated() where isNew(event) {
            places[ByteKey(event.eventId)] = live.count
            live.append(Entry(event, token: index == 0 ? token : nil))
        }
    }

    mutating func prepend(_ events: [MXEvent], token: String?) {
        for (index, event) in events.enumerated() where isNew(event) {
            places[ByteKey(event.eventId)] = -1 - older.count
            older.append(Entry(event, token: index == events.count - 1 ? token : nil))
        }
    }

    private func isNew(_ event: MXEvent) -> Bool {
        !event.eventId.isEmpty && places[ByteKey(event.eventId)] == nil
    }

    mutating func replace(_ events: [MXEvent]) {
        for event in events {
            guard let place = places[ByteKey(event.eventId)] else { continue }
            let replacement = Entry(event, token: entry(at: place).token)
            if place < 0 { older[-1 - place] = replacement } else { live[place] = replacement }
        }
    }

    func events(before eventId: String?, limit: Int) -> [MXEvent] {
        let end = eventId.map { places[ByteKey($0)] } ?? live.count
        guard let end, limit > 0 else { return [] }
        let start = limit < end + older.count ? end - limit : -older.count
        return (start..<end).reversed().map { entry(at: $0).event }
    }

    func relations(toEach eventIds: Set<ByteKey>) -> MXDictionary<[MXEvent]> {
        var relations = MXDictionary<[MXEvent]>()
        for place in -older.count..<live.count {
            let entry = entry(at: place)
            if let target = entry.relation, eventIds.contains(target) {
                relations[target, default: []].append(entry.event)
            }
        }
        return relations
    }

    /// - Returns: The token of the oldest remaining event; `nil` if nothing was trimmed.
    mutating func trim(to count: Int) -> String? {
        guard older.count + live.count > count + count / 4 else { return nil }
        let places = -older.count..<live.count
        let cut = places.dropLast(count - 1).last { entry(at: $0).token != nil }
        guard let cut, cut > places.lowerBound else { return nil }
        let kept = (cut..<places.upperBound).map(entry)
        self = Self()
        for var entry in kept {
            entry.event = entry.event.compact  // most of the data it shared is gone
            self.places[entry.event.eventId] = live.count
            live.append(entry)
        }
        return kept.first?.token
    }
}
