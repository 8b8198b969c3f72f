import Basics

/// The policy for events that arrive faster than they are read. Besides the number of events, every policy limits the
/// memory that they keep to 64 MiB.
public enum EventBufferingPolicy: Sendable, Hashable {
    /// Stops reading the socket while `limit` events are waiting. Resumes when half of them are taken, or when the loop
    /// ends or is cancelled. Nothing is lost, but everything else on the connection waits too. A long wait is reported
    /// as an error.
    case suspend(limit: Int)
    /// Discards the oldest of `limit` waiting events for each new one.
    case dropOldest(limit: Int)
    /// Ends the sequence after `limit` waiting events and reports the overflow as an error.
    case fail(limit: Int)

    /// `suspend` at 1,024 events.
    public static let `default` = EventBufferingPolicy.suspend(limit: 1024)
}

/// A bounded queue between bindings, which add elements, and one reader, which waits for them.
///
/// Only one task may read at a time. Elements are returned in the order in which they were added.
package final class EventBuffer<Element: Sendable>: Sendable {
    package enum Added: Hashable, Sendable {
        case buffered
        /// Added, and the buffer is now full: stop the source until the `onRoom` closure of
        /// ``init(policy:wakeUps:onRoom:)`` is called.
        case full
        case droppedOldest
        /// Not added: the limit is exceeded and the buffer takes no more elements.
        case overflowed
        case finished
    }

    private struct Waiting {
        let element: Element
        /// The bytes that it keeps in memory. Among elements that share a read, the first counts the whole read.
        let byteCount: Int
        /// Whether it counts a read that contains more than the element itself.
        var isView = false
    }

    private struct State {
        var elements = Queue<Waiting>()
        var byteCount = 0
        /// The part of it that consists of whole reads.
        var viewByteCount = 0
        /// The start of the read that the last element shares, if any.
        var lastRead: UnsafeRawPointer?
        var isFinished = false
        var isFull = false
        var waiting: CheckedContinuation<Element?, Never>?
        /// Whether a call of ``EventBuffer/wakeReader()`` is pending.
        var isToBeWoken = false

        var count: Int { elements.count }

        mutating func append(_ waiting: Waiting) {
            elements.append(waiting)
            byteCount += waiting.byteCount
            if waiting.isView { viewByteCount += waiting.byteCount }
        }

        mutating func removeFirst() -> Element? {
            guard let first = elements.popFirst() else { return nil }
            byteCount -= first.byteCount
            if first.isView { viewByteCount -= first.byteCount }
            if elements.isEmpty { lastRead = nil }
            return first.element
        }
    }

    /// The position of an element among others.
    private struct View {
        let read: UnsafeRawPointer?
        let readByteCount: Int
        /// Returns a copy of the element that keeps nothing else in memory.
        let copy: (Element) -> Element
    }

    /// The bytes of reads that may wait uncopied. A reader that keeps up never has more, and so costs no copies.
    private static var maximumViewBytes: Int { 1 << 20 }

    /// The bytes that may wait regardless of the policy's limit of elements, because the server determines their size.
    private static var maximumBytes: Int { 64 << 20 }

    private let policy: EventBufferingPolicy
    private let onRoom: @Sendable () -> Void
    private let wakeUps: ReaderWakeUps?
    private let state = Lock(State())

    /// - Parameters:
    ///   - wakeUps: Wakes a waiting reader once several elements are available, which is much cheaper than waking it
    ///     for each one. Used only with ``EventBufferingPolicy/suspend(limit:)``, where no element is lost meanwhile.
    ///   - onRoom: Called when a buffer that was full has room again or will never be read again.
    package init(
        policy: EventBufferingPolicy, wakeUps: ReaderWakeUps? = nil, onRoom: @escaping @Sendable () -> Void = {}
    ) {
        self.policy = policy
        self.onRoom = onRoom
        if case .suspend = policy { self.wakeUps = wakeUps } else { self.wakeUps = nil }
    }

    package var count: Int { state.withLock { $0.count } }

    package var isAwaited: Bool { state.withLock { $0.waiting != nil } }

    /// Adds an element whose size does not matter.
    package func add(_ element: Element) -> Added { add(element, byteCount: 0) }

    /// - Parameter byteCount: The part of the element's size that its sender controls.
    package func add(_ element: Element, byteCount: Int) -> Added { add(element, byteCount: byteCount, of: nil) }

    private func add(_ element: Element, byteCount: Int, of view: View?) -> Added {
        var dropped: [Element] = []  // released after the lock
        let (added, handedOver, isToBeWoken) = state.withLock { state -> (Added, HandedOver?, Bool) in
            if state.isFinished { return (.finished, nil, false) }
            if state.waiting != nil, wakeUps == nil { return (.buffered, handOver(element, &state), false) }
            let waiting = makeWaiting(element, byteCount, of: view, in: &state)
            let added = store(waiting, in: &state, &dropped)
            guard state.waiting != nil else { return (added, nil, false) }
            // A waiting reader keeps up: instead of stopping the source, a full buffer wakes it at once.
            guard added != .full else { return (.buffered, handOver(&state), false) }
            defer { state.isToBeWoken = true }
            return (.buffered, nil, !state.isToBeWoken)
        }
        handedOver.map { $0.reader.resume(returning: $0.element) }
        if isToBeWoken { wakeUps?.add { self.wakeReader() } }
        return added
    }

    /// A waiting reader and its element, nil at the end, to pass on after the lock. A tuple, because a generic type here
    /// would need its metadata for each event.
    private typealias HandedOver = (reader: CheckedContinuation<Element?, Never>, element: Element?)

    /// Hands `element`, which has no predecessors, to the waiting reader.
    private func handOver(_ element: Element, _ state: inout State) -> HandedOver? {
        defer { state.waiting = nil }
        return state.waiting.map { ($0, element) }
    }

    /// Stores an element as it is while the reads in the buffer are few, otherwise as a copy.
    private func makeWaiting(_ element: Element, _ byteCount: Int, of view: View?, in state: inout State) -> Waiting {
        guard let view else {
            state.lastRead = nil
            return Waiting(element: element, byteCount: byteCount)
        }
        if let read = view.read, read == state.lastRead { return Waiting(element: element, byteCount: 0) }
        guard
            state.viewByteCount + view.readByteCount <= Self.maximumViewBytes || view.readByteCount < 2 * byteCount
        else {
            state.lastRead = nil
            return Waiting(element: view.copy(element), byteCount: byteCount)
        }
        state.lastRead = view.read
        return Waiting(element: element, byteCount: view.readByteCount, isView: true)
    }

    /// Hands the first element to the waiting reader, if there is one.
    private func handOver(_ state: inout State) -> HandedOver? {
        guard let reader = state.waiting else { return nil }
        state.waiting = nil
        let element = state.removeFirst()
        // While a reader waits, the source was never told that the buffer is full.
        state.isFull = false
        return (reader, element)
    }

    // Functions called for each event are specialized for events here, since callers in other modules can't do that.
    @_specialize(where Element == RealtimeEvent)
    private func wakeReader() {
        let handedOver = state.withLock { state in
            state.isToBeWoken = false
            return state.count == 0 ? nil : handOver(&state)
        }
        handedOver.map { $0.reader.resume(returning: $0.element) }
    }

    @_specialize(where Element == RealtimeEvent)
    private func store(_ waiting: Waiting, in state: inout State, _ dropped: inout [Element]) -> Added {
        switch policy {
        case .suspend(let limit):
            state.append(waiting)
            guard !state.isFull, state.count >= max(limit, 1) || state.byteCount >= Self.maximumBytes else {
                return .buffered
            }
            state.isFull = true
            return .full
        case .dropOldest(let limit):
            state.append(waiting)
            var added = Added.buffered
            while state.count > max(limit, 1) || state.byteCount > Self.maximumBytes && state.count > 1 {
                if let oldest = state.removeFirst() { dropped.append(oldest) }
                added = .droppedOldest
            }
            return added
        case .fail(let limit):
            guard state.count < limit, state.count == 0 || state.byteCount + waiting.byteCount <= Self.maximumBytes
            else {
                state.isFinished = true
                return .overflowed
            }
            state.append(waiting)
            return .buffered
        }
    }

    /// Accepts no more elements, so that a stopped source can resume. Waiting elements can still be read.
    package func finish() { finish(keepingElements: true) }

    /// Discards waiting elements and lets a stopped source resume, because the reader is gone.
    package func close() { finish(keepingElements: false) }

    private func finish(keepingElements: Bool) {
        let (discarded, wasFull, handedOver) = state.withLock { state -> (Queue<Waiting>, Bool, HandedOver?) in
            let wasFull = state.isFull
            state.isFinished = true
            state.isFull = false
            var discarded = Queue<Waiting>()
            if !keepingElements {
                swap(&discarded, &state.elements)
                (state.byteCount, state.viewByteCount, state.lastRead) = (0, 0, nil)
            }
            return (discarded, wasFull, handOver(&state))
        }
        _ = discarded  // released after the lock
        handedOver.map { $0.reader.resume(returning: $0.element) }
        if wasFull { onRoom() }
    }

    /// Returns the next element, or nil when the buffer is finished and empty, or when the task is cancelled, which
    /// closes the buffer.
    @_specialize(where Element == RealtimeEvent)
    package func next() async -> Element? {
        if Task.isCancelled { close() }
        let (element, hasRoom) = state.withLock { state in
            let element = state.removeFirst()
            return (element, element != nil && takeRoom(&state))
        }
        if hasRoom { onRoom() }
        if let element { return element }
        return await wait()
    }

    /// Returns the available elements, in order.
    package func takeWaiting(limit: Int) -> [Element] {
        let (elements, hasRoom) = state.withLock { state in
            var elements: [Element] = []
            while elements.count < limit, let element = state.removeFirst() { elements.append(element) }
            return (elements, !elements.isEmpty && takeRoom(&state))
        }
        if hasRoom { onRoom() }
        return elements
    }

    /// Waits for the next element, which may have arrived since ``next()`` checked.
    func wait() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (element, answer, hasRoom) = state.withLock { state -> (Element?, Bool, Bool) in
                    if let element = state.removeFirst() { return (element, true, takeRoom(&state)) }
                    if state.isFinished || Task.isCancelled || state.waiting != nil { return (nil, true, false) }
                    state.waiting = continuation
                    return (nil, false, false)
                }
                if hasRoom { onRoom() }
                if answer { continuation.resume(returning: element) }
            }
        } onCancel: {
            close()
        }
    }

    private func takeRoom(_ state: inout State) -> Bool {
        guard case .suspend(let limit) = policy, state.isFull, state.count <= max(limit, 1) / 2,
            state.byteCount <= Self.maximumBytes / 2
        else { return false }
        state.isFull = false
        return true
    }
}

extension EventBuffer where Element == RealtimeEvent {
    /// Adds an event. Not generic, because events are frequent and callers are in other modules.
    package func add(event: RealtimeEvent) -> Added {
        let read = event.bytes.withUnsafeBytes { (address: $0.baseAddress, byteCount: $0.count) }
        return add(
            event, byteCount: event.byteCount,
            of: View(read: read.address, readByteCount: read.byteCount, copy: { $0.detached() }))
    }
}
