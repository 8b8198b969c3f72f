package import Basics

/// A reader of events. While it is too slow, receiving stops.
package final class EventReader: Sendable {
    package enum Form: Sendable {
        /// Its buffer is full.
        case sequence
        /// Too many callbacks are waiting for this one.
        case callback
    }

    package let form: Form
    /// The event's name; nil for all events.
    package let eventName: String?
    /// The channel's name; nil for all channels.
    package let channelName: String?

    package init(_ form: Form, eventName: String?, channelName: String?) {
        self.form = form
        self.eventName = eventName
        self.channelName = channelName
    }
}

/// The readers that are too slow, and since when.
///
/// A reader's hold and its release come from two threads, and so in any order. They are therefore counted.
package struct ReadingHolds: Sendable {
    /// A hold that is too long, or a reported one that has ended.
    package struct Report: Sendable {
        package let reader: EventReader
        package let duration: Duration
    }

    private struct Hold: Sendable {
        let reader: EventReader
        let start: MonotonicInstant
        var count = 0
        var isReported = false
    }

    private var holds: [ObjectIdentifier: Hold] = [:]
    /// Whether the readers of another owner, which reports them, are too slow.
    package var isHeldByOthers = false

    package init() {}

    package var isHeld: Bool { isHeldByOthers || holds.values.contains { $0.count > 0 } }

    package mutating func hold(_ reader: EventReader, now: MonotonicInstant) { change(reader, by: 1, now: now) }

    /// - Returns: A report if the hold that ended had been reported.
    package mutating func release(_ reader: EventReader, now: MonotonicInstant) -> Report? {
        change(reader, by: -1, now: now)
    }

    @discardableResult
    private mutating func change(_ reader: EventReader, by change: Int, now: MonotonicInstant) -> Report? {
        let id = ObjectIdentifier(reader)
        var hold = holds[id] ?? Hold(reader: reader, start: now)
        hold.count += change
        holds[id] = hold.count == 0 ? nil : hold
        return hold.count == 0 && hold.isReported ? Report(reader: reader, duration: now - hold.start) : nil
    }

    /// Returns the time at which the next hold reaches `limit`.
    package func nextDeadline(limit: Duration) -> MonotonicInstant? {
        holds.values.lazy.filter { $0.count > 0 && !$0.isReported }.map { $0.start + limit }.min()
    }

    /// Returns the holds that have reached `limit`, longest first, each once.
    package mutating func takeOverdue(limit: Duration, now: MonotonicInstant) -> [Report] {
        var reports: [Report] = []
        for (id, hold) in holds where hold.count > 0 && !hold.isReported && hold.start + limit <= now {
            holds[id]?.isReported = true
            reports.append(Report(reader: hold.reader, duration: now - hold.start))
        }
        return reports.sorted { $0.duration > $1.duration }
    }
}

extension ReadingHolds.Report {
    private var seconds: String { "\(Int(duration / .seconds(1))) s" }

    private var event: String { reader.eventName.map { "“\($0.prefix(200))”" } ?? "any event" }

    /// Describes the effect of the hold while it lasts.
    package var message: String {
        switch reader.form {
        case .sequence:
            "nothing is received: a sequence of \(event) is full, and has not been read for \(seconds)"
        case .callback:
            "nothing is received: too many events wait for a callback of \(event), and have for \(seconds)"
        }
    }

    /// Describes the end of the hold.
    package var endMessage: String {
        switch reader.form {
        case .sequence: "a sequence of \(event), which stopped receiving for \(seconds), is read again or has ended"
        case .callback: "a callback of \(event), which stopped receiving for \(seconds), has ended"
        }
    }
}
