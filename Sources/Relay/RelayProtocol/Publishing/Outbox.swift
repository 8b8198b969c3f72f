package import Basics

package enum PublishOutcome: Hashable, Sendable {
    /// The message is stored, perhaps since an earlier attempt.
    case stored
    /// The message is not stored, or may be. It is sent again with the same ID, of which the stream keeps one.
    case failed
    /// The stream is full. The message is sent again later.
    case full
    /// The message can never be stored: it is larger than the stream or the server allows.
    case impossible
}

/// Messages waiting for the stream or on their way to it, with a limit on pending ones (Documentation/Rules/relay.md,
/// "Publishing").
///
/// The order within a unit is kept as far as a stream allows. Acknowledgements arrive in any order, so after a failure
/// nothing new of that unit is sent. When its pending messages are settled, those that are not stored are sent again in
/// order, and only then those that arrived meanwhile.
package struct Outbox: Sendable {
    package struct Limits: Sendable {
        /// The maximum number of pending messages.
        package var flight = 512
        /// Their maximum size in bytes.
        package var flightBytes = 8 << 20
        /// The number of waiting bytes above which reading stops, until half of them are gone.
        package var waitingBytes = 16 << 20

        package init() {}
    }

    /// A class, so that moving it only copies a reference.
    package final class Entry: Sendable {
        /// The number of the message within its unit and term, counted from one.
        package let number: Int
        package let token: UInt64
        package let unit: String
        package let term: Int
        package let message: OutgoingMessage
        package let byteCount: Int
        /// The time at which it arrived from its source, in milliseconds since 1970.
        package let time: Int64

        package init(
            number: Int, token: UInt64, unit: String, term: Int, message: OutgoingMessage, byteCount: Int, time: Int64
        ) {
            (self.number, self.token, self.unit, self.term) = (number, token, unit, term)
            (self.message, self.byteCount, self.time) = (message, byteCount, time)
        }
    }

    private enum Phase {
        case flowing
        /// A message has failed; waiting for the other pending ones.
        case settling
        /// Waiting for the next attempt: see ``Outbox/pauses``.
        case pausing
        /// Failed messages are being sent again.
        case repeating
    }

    private struct Unit {
        let slot: Slot
        let term: Int
        var phase = Phase.flowing
        var lastNumber = 0
        var waiting: ArraySlice<Entry> = []
        var flight: [UInt64: Entry] = [:]
        /// The failed messages, in any order.
        var failed: [Entry] = []
        var failures = 0
        var isFull = false
        /// The positions of the source, each reached when all messages up to a number are stored.
        var marks: ArraySlice<(number: Int, position: String)> = []

        /// The number of the first message that is not in the stream.
        var firstOpen: Int? {
            [flight.values.map(\.number).min(), failed.map(\.number).min(), waiting.first?.number].compactMap(\.self)
                .min()
        }

        var oldestTime: Int64? {
            [flight.values.map(\.time).min(), failed.map(\.time).min(), waiting.first?.time].compactMap(\.self).min()
        }

        var isEmpty: Bool { waiting.isEmpty && flight.isEmpty && failed.isEmpty }
    }

    /// The number of messages to send of a unit before it is another one's turn.
    private static var turn: Int { 16 }

    private let limits: Limits
    private var units: [ByteKey: Unit] = [:]
    private var ready: ArraySlice<String> = []
    /// The times until which units pause.
    private var pauses: [ByteKey: MonotonicInstant] = [:]
    private var unitOfToken: [UInt64: String] = [:]
    private var lastToken: UInt64 = 0
    private var flightBytes = 0
    private var reached: [(unit: String, term: Int, position: String)] = []
    private var impossible: [Entry] = []
    /// The number of bytes held, whether pending or waiting.
    package private(set) var byteCount = 0
    /// Whether sources must stop delivering.
    package private(set) var isHolding = false

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    // MARK: Units

    package mutating func open(_ unit: String, in slot: Slot, term: Int) {
        close(unit)
        units[unit] = Unit(slot: slot, term: term)
    }

    /// Discards what is left of a unit that is no longer ours.
    package mutating func close(_ unit: String) {
        guard let old = units.removeValue(forKey: unit) else { return }
        pauses[unit] = nil
        for (token, entry) in old.flight {
            unitOfToken[token] = nil
            flightBytes -= entry.byteCount
        }
        for entry in Array(old.flight.values) + old.failed + old.waiting { byteCount -= entry.byteCount }
        updateHold()
    }

    /// Whether everything from a unit is in the stream.
    package func isEmpty(_ unit: String) -> Bool { units[unit]?.isEmpty ?? true }

    /// The time at which the oldest message that is not in the stream arrived from its source; nil if all are stored.
    package var oldestTime: Int64? { units.values.compactMap(\.oldestTime).min() }

    package var flightCount: Int { unitOfToken.count }

    /// Whether nothing moves because the stream is full.
    package var isStreamFull: Bool { units.values.contains { $0.isFull } }

    // MARK: Incoming messages

    /// - Returns: The number of the message in its unit and term; nil if the unit is not open.
    @discardableResult
    package mutating func add(
        _ unit: String, byteCount: Int, time: Int64, _ message: (_ number: Int, _ term: Int) -> OutgoingMessage
    ) -> Int? {
        guard var open = units.removeValue(forKey: unit) else { return nil }  // so that it is changed in place
        lastToken += 1
        open.lastNumber += 1
        let entry = Entry(
            number: open.lastNumber, token: lastToken, unit: unit, term: open.term,
            message: message(open.lastNumber, open.term), byteCount: byteCount, time: time)
        if open.waiting.isEmpty, case .flowing = open.phase { ready.append(unit) }
        open.waiting.append(entry)
        units[unit] = open
        self.byteCount += byteCount
        updateHold()
        return entry.number
    }

    /// Records a position of a unit's source that follows everything received so far.
    package mutating func mark(_ unit: String, position: String) {
        guard let last = units[unit]?.lastNumber else { return }
        // Of several positions in a row, only the last one counts.
        if units[unit]?.marks.last?.number == last { units[unit]?.marks.removeLast() }
        units[unit]?.marks.append((last, position))
        passMarks(unit)
    }

    /// Removes and returns the positions before which everything is now in the stream, in order.
    package mutating func takeReached() -> [(unit: String, term: Int, position: String)] {
        defer { reached = [] }
        return reached
    }

    /// Removes and returns the messages that can never be stored.
    package mutating func takeImpossible() -> [Entry] {
        defer { impossible = [] }
        return impossible
    }

    // MARK: Outgoing messages

    /// Returns the messages to send now. Answer each with ``ended(_:_:now:)``.
    package mutating func takeNext(now: MonotonicInstant) -> [Entry] {
        for (name, until) in pauses where until <= now {
            pauses[name] = nil
            units[name]?.phase = .repeating
            ready.append(name.string)
        }
        var entries: [Entry] = []
        while hasRoom, let name = ready.popFirst() {
            guard var unit = units.removeValue(forKey: name) else { continue }  // so that it is changed in place
            var left = Self.turn
            while left > 0, hasRoom, let entry = next(of: &unit) {
                left -= 1
                unit.flight[entry.token] = entry
                unitOfToken[entry.token] = name
                flightBytes += entry.byteCount
                entries.append(entry)
            }
            let hasMore = canSend(unit)
            units[name] = unit
            if hasMore { ready.append(name) }
        }
        return entries
    }

    private var hasRoom: Bool { unitOfToken.count < limits.flight && flightBytes < limits.flightBytes }

    private func canSend(_ unit: Unit) -> Bool {
        switch unit.phase {
        case .flowing: !unit.waiting.isEmpty
        case .repeating: !unit.failed.isEmpty
        case .settling, .pausing: false
        }
    }

    private func next(of unit: inout Unit) -> Entry? {
        guard canSend(unit) else { return nil }
        if case .repeating = unit.phase { return unit.failed.removeFirst() }
        defer {
            if unit.waiting.isEmpty { unit.waiting = [] }  // a slice retains removed elements
        }
        return unit.waiting.popFirst()
    }

    /// Reports the result of a message. Ignores messages that are no longer pending.
    package mutating func ended(_ token: UInt64, _ outcome: PublishOutcome, now: MonotonicInstant) {
        guard let name = unitOfToken.removeValue(forKey: token), var unit = units.removeValue(forKey: name)
        else { return }
        defer { updateHold() }
        guard let entry = unit.flight.removeValue(forKey: token) else {
            units[name] = unit
            return
        }
        flightBytes -= entry.byteCount
        switch outcome {
        case .stored, .impossible:
            byteCount -= entry.byteCount
            if outcome == .impossible { impossible.append(entry) }
            if outcome == .stored { unit.isFull = false }
        case .failed, .full:
            unit.isFull = outcome == .full
            unit.failed.append(entry)
            unit.phase = .settling
        }
        if unit.flight.isEmpty { settle(&unit, name, now) }
        units[name] = unit
        passMarks(name)
    }

    private mutating func settle(_ unit: inout Unit, _ name: String, _ now: MonotonicInstant) {
        switch unit.phase {
        case .flowing, .pausing: return
        case .settling, .repeating:
            guard !unit.failed.isEmpty else {
                unit.failures = 0
                unit.phase = .flowing
                if !unit.waiting.isEmpty { ready.append(name) }
                return
            }
            if case .repeating = unit.phase { return }  // the rest of it is still to be sent
            unit.failed.sort { $0.number < $1.number }
            let pause = Duration.milliseconds(unit.isFull ? 1000 : min(20 << min(unit.failures, 6), 1000))
            unit.failures += 1
            unit.phase = .pausing
            pauses[name] = now + pause
        }
    }

    package var nextRetry: MonotonicInstant? { pauses.values.min() }

    private mutating func passMarks(_ name: String) {
        guard let unit = units[name], let first = unit.marks.first else { return }
        let open = unit.firstOpen ?? .max
        guard first.number < open else { return }
        let passed = unit.marks.prefix { $0.number < open }
        units[name]?.marks.removeFirst(passed.count)
        if let last = passed.last { reached.append((name, unit.term, last.position)) }
    }

    private mutating func updateHold() {
        isHolding = isHolding ? byteCount > limits.waitingBytes / 2 : byteCount > limits.waitingBytes
    }
}
