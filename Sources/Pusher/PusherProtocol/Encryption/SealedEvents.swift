import Realtime

/// Events of an encrypted channel that its key cannot decrypt, oldest first. The server controls their number and size,
/// so they are limited in bytes.
struct SealedEvents: Sendable {
    private var events: [RealtimeEvent] = []
    private var head = 0
    private var byteCount = 0
    /// The overhead of an event in addition to its bytes.
    private static let overhead = 256

    var isEmpty: Bool { head == events.count }

    var first: RealtimeEvent? { isEmpty ? nil : events[head] }

    /// Stores a copy of the event, so that the buffer of the read can be released. Returns false if the total would
    /// exceed `maximumBytes`.
    mutating func append(_ event: RealtimeEvent, upTo maximumBytes: Int) -> Bool {
        let copy = event.withData(event.dataBytes)
        guard byteCount + cost(of: copy) <= maximumBytes else { return false }
        byteCount += cost(of: copy)
        events.append(copy)
        return true
    }

    mutating func removeFirst() {
        guard let first else { return }
        byteCount -= cost(of: first)
        head += 1
        if head * 2 >= events.count {
            events.removeFirst(head)
            head = 0
        }
    }

    mutating func takeAll() -> ArraySlice<RealtimeEvent> {
        defer { self = SealedEvents() }
        return events[head...]
    }

    private func cost(of event: RealtimeEvent) -> Int { event.bytes.count + Self.overhead }
}
