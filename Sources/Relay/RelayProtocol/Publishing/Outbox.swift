package import Basics

/// What has come of a message that was sent to the stream.
package enum PublishOutcome: Hashable, Sendable {
    /// It is there, perhaps since an earlier try.
    case stored
    /// It is not there, or nobody knows: it is sent again with the same id, of which the stream keeps one.
    case failed
    /// The stream is full: the same, later.
    case full
    /// It never will be: it is larger than the stream or the server takes.
    case impossible
}

/// What waits for its place in the stream, and what is on its way there, in bounded flight (Documentation/Rules/relay.md,
/// "Publishing").
///
/// Of one unit the order is kept as far as a stream allows it: acknowledgements come in any order, so once one message of a
/// unit has failed, nothing new of that unit goes out; when its flight has ended, all of it that is not there is sent again
/// in order, and only then what has come meanwhile.
package struct Outbox: Sendable {
    package struct Limits: Sendable {
        /// Messages on their way.
        package var flight = 512
        /// Their bytes.
        package var flightBytes = 8 << 20
        /// Bytes that wait: then no more is read, until half of it is gone.
        package var waitingBytes = 16 << 20

        package init() {}
    }

    /// A class, so that what moves from place to place is a reference.
    package final class Entry: Sendable {
        /// Counts the messages of a unit and term, from one.
        package let number: Int
        package let token: UInt64
        package let unit: String
        package let term: Int
        package let message: OutgoingMessage
        package let byteCount: Int
        /// Milliseconds since 1970, when it came from its source.
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
        /// One has failed: the others of its flight are waited for.
        case settling
        /// Until the next try: see ``Outbox/pauses``.
        case pausing
        /// What had failed is on its way again.
        case repeating
    }

    private struct Unit {
        let slot: Slot
        let term: Int
        var phase = Phase.flowing
        var lastNumber = 0
        var waiting: ArraySlice<Entry> = []
        var flight: [UInt64: Entry] = [:]
        /// What has failed, in any order.
        var failed: [Entry] = []
        var failures = 0
        var isFull = false
        /// Positions of the source, each reached when all messages up to a number are there.
        var marks: ArraySlice<(number: Int, position: String)> = []

        /// The first message that is not in the stream.
        var firstOpen: Int? {
            [flight.values.map(\.number).min(), failed.map(\.number).min(), waiting.first?.number].compactMap(\.self)
                .min()
        }

        var oldestTime: Int64? {
            [flight.values.map(\.time).min(), failed.map(\.time).min(), waiting.first?.time].compactMap(\.self).min()
        }

        var isEmpty: Bool { waiting.isEmpty && flight.isEmpty && failed.isEmpty }
    }

    /// How many messages of a unit go out before another one has its turn.
    private static var turn: Int { 16 }

    private let limits: Limits
    private var units: [ByteKey: Unit] = [:]
    private var ready: ArraySlice<String> = []
    /// Until when units pause.
    private var pauses: [ByteKey: MonotonicInstant] = [:]
    private var unitOfToken: [UInt64: String] = [:]
    private var lastToken: UInt64 = 0
    private var flightBytes = 0
    private var reached: [(unit: String, term: Int, position: String)] = []
    private var impossible: [Entry] = []
    /// Bytes that are held, on their way or not.
    package private(set) var byteCount = 0
    /// Whether sources are to give no more.
    package private(set) var isHolding = false

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    // MARK: Units

    package mutating func open(_ unit: String, in slot: Slot, term: Int) {
        close(unit)
        units[unit] = Unit(slot: slot, term: term)
    }

    /// Forgets what is left of a unit: it is not ours any more.
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

    /// Whether all that came from a unit is in the stream.
    package func isEmpty(_ unit: String) -> Bool { units[unit]?.isEmpty ?? true }

    /// When the oldest message that is not in the stream came from its source; nil if all are.
    package var oldestTime: Int64? { units.values.compactMap(\.oldestTime).min() }

    /// Messages on their way.
    package var flightCount: Int { unitOfToken.count }

    /// Why nothing moves: the stream is full.
    package var isStreamFull: Bool { units.values.contains { $0.isFull } }

    // MARK: What comes

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

    /// All that has come from a unit so far lies before this position of its source.
    package mutating func mark(_ unit: String, position: String) {
        guard let last = units[unit]?.lastNumber else { return }
        // Of several positions with nothing between them the last one counts.
        if units[unit]?.marks.last?.number == last { units[unit]?.marks.removeLast() }
        units[unit]?.marks.append((last, position))
        passMarks(unit)
    }

    /// Positions before which all is in the stream now, in order.
    package mutating func takeReached() -> [(unit: String, term: Int, position: String)] {
        defer { reached = [] }
        return reached
    }

    /// Messages that never will be in the stream.
    package mutating func takeImpossible() -> [Entry] {
        defer { impossible = [] }
        return impossible
    }

    // MARK: What goes

    /// What is to be sent now. Each is to be answered with ``ended(_:_:now:)``.
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
            if unit.waiting.isEmpty { unit.waiting = [] }  // a slice keeps what it has handed on
        }
        return unit.waiting.popFirst()
    }

    /// What has come of a message. Of what is not waited for any more nothing is known.
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
            if case .repeating = unit.phase { return }  // the rest of it has its turn
            unit.failed.sort { $0.number < $1.number }
            let pause = Duration.milliseconds(unit.isFull ? 1000 : min(20 << min(unit.failures, 6), 1000))
            unit.failures += 1
            unit.phase = .pausing
            pauses[name] = now + pause
        }
    }

    /// When there is something to send again.
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
