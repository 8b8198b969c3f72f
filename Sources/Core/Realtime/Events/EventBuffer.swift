import Basics

/// How a sequence deals with events that come faster than it is read. Beside the number of events, 64 MiB of memory that they
/// keep are a limit of every policy.
public enum EventBufferingPolicy: Sendable, Hashable {
    /// Stops reading the socket while `limit` events wait, and goes on when half of them are taken, or when the loop is
    /// left or cancelled. Nothing is lost, but everything else on the connection waits too. If it waits for long, that is
    /// reported as an error.
    case suspend(limit: Int)
    /// Drops the oldest of `limit` waiting events for each new one.
    case dropOldest(limit: Int)
    /// Ends the sequence after `limit` waiting events; the overflow is reported as an error.
    case fail(limit: Int)

    /// `suspend` at 1,024 events.
    public static let `default` = EventBufferingPolicy.suspend(limit: 1024)
}

/// A bounded queue between bindings, which add, and one reader, who waits.
///
/// The reader is one task at a time. Elements come out in the order in which they were added.
package final class EventBuffer<Element: Sendable>: Sendable {
    package enum Added: Hashable, Sendable {
        case buffered
        /// The buffer is full now: stop the source until ``init(policy:onRoom:)``'s `onRoom` is called.
        case full
        case droppedOldest
        /// The first one too many: the buffer takes no more.
        case overflowed
        /// Not taken: the buffer is finished.
        case finished
    }

    private struct Waiting {
        let element: Element
        /// Bytes that it keeps in memory. Of the elements that share a read, the first counts the whole read.
        let byteCount: Int
        /// Whether it counts a read in which there is more than itself.
        var isView = false
    }

    private struct State {
        var elements = Queue<Waiting>()
        /// Of the elements that wait.
        var byteCount = 0
        /// The part of it that whole reads make up.
        var viewByteCount = 0
        /// Where the read starts that the last element shares; nil if it shares none.
        var lastRead: UnsafeRawPointer?
        var isFinished = false
        var isFull = false
        var waiting: CheckedContinuation<Element?, Never>?
        /// Whether somebody will call ``EventBuffer/wakeReader()``.
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

    /// Where an element lies among others.
    private struct View {
        let read: UnsafeRawPointer?
        let readByteCount: Int
        /// A copy of the element that keeps nothing else.
        let copy: (Element) -> Element
    }

    /// Bytes of reads that may wait uncopied. A reader who keeps up never has more, and so costs no copies.
    private static var maximumViewBytes: Int { 1 << 20 }

    /// Bytes that may wait, whatever the policy's limit of elements: how large they are is the server's choice.
    private static var maximumBytes: Int { 64 << 20 }

    private let policy: EventBufferingPolicy
    private let onRoom: @Sendable () -> Void
    private let wakeUps: ReaderWakeUps?
    private let state = Lock(State())

    /// - Parameters:
    ///   - wakeUps: Who wakes a waiting reader once several elements are there, which is much cheaper than one by one.
    ///     Only where none is lost meanwhile: with ``EventBufferingPolicy/suspend(limit:)``.
    ///   - onRoom: Called when a buffer that was full has room again, or will never be read any more.
    package init(
        policy: EventBufferingPolicy, wakeUps: ReaderWakeUps? = nil, onRoom: @escaping @Sendable () -> Void = {}
    ) {
        self.policy = policy
        self.onRoom = onRoom
        if case .suspend = policy { self.wakeUps = wakeUps } else { self.wakeUps = nil }
    }

    package var count: Int { state.withLock { $0.count } }

    /// Whether a reader waits.
    package var isAwaited: Bool { state.withLock { $0.waiting != nil } }

    /// An element whose size does not matter.
    package func add(_ element: Element) -> Added { add(element, byteCount: 0) }

    /// - Parameter byteCount: What the element takes, as far as its sender decides that.
    package func add(_ element: Element, byteCount: Int) -> Added { add(element, byteCount: byteCount, of: nil) }

    private func add(_ element: Element, byteCount: Int, of view: View?) -> Added {
        var dropped: [Element] = []  // released after the lock
        let (added, handedOver, isToBeWoken) = state.withLock { state -> (Added, HandedOver?, Bool) in
            if state.isFinished { return (.finished, nil, false) }
            if state.waiting != nil, wakeUps == nil { return (.buffered, handOver(element, &state), false) }
            let waiting = makeWaiting(element, byteCount, of: view, in: &state)
            let added = store(waiting, in: &state, &dropped)
            guard state.waiting != nil else { return (added, nil, false) }
            // Who waits keeps up: a full buffer does not stop the source, but wakes at once.
            guard added != .full else { return (.buffered, handOver(&state), false) }
            defer { state.isToBeWoken = true }
            return (.buffered, nil, !state.isToBeWoken)
        }
        handedOver.map { $0.reader.resume(returning: $0.element) }
        if isToBeWoken { wakeUps?.add { self.wakeReader() } }
        return added
    }

    /// What a waiting reader is given once the lock is free; without an element there will be no more. A tuple, since
    /// the metadata of a generic type in here would be asked for with each event.
    private typealias HandedOver = (reader: CheckedContinuation<Element?, Never>, element: Element?)

    /// Takes `element`, before which none waits, for the reader who waits.
    private func handOver(_ element: Element, _ state: inout State) -> HandedOver? {
        defer { state.waiting = nil }
        return state.waiting.map { ($0, element) }
    }

    /// How an element waits: as it is as long as the reads that wait with it are few, otherwise as a copy.
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

    /// Takes the first element for the reader who waits, if there is one.
    private func handOver(_ state: inout State) -> HandedOver? {
        guard let reader = state.waiting else { return nil }
        state.waiting = nil
        let element = state.removeFirst()
        // The source was never told of a buffer that is full while somebody waits.
        state.isFull = false
        return (reader, element)
    }

    // What is called for each event is compiled for events too: callers in other modules cannot do that.
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

    /// Takes no more elements, so that a stopped source can go on; those that wait can still be read.
    package func finish() { finish(keepingElements: true) }

    /// The reader is gone: frees what waits and lets a stopped source go on.
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
        _ = discarded  // let go of after the lock
        handedOver.map { $0.reader.resume(returning: $0.element) }
        if wasFull { onRoom() }
    }

    /// The next element, or nil when the buffer is finished and empty or the task is cancelled, which closes it.
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

    /// The elements that are there, in order.
    package func takeWaiting(limit: Int) -> [Element] {
        let (elements, hasRoom) = state.withLock { state in
            var elements: [Element] = []
            while elements.count < limit, let element = state.removeFirst() { elements.append(element) }
            return (elements, !elements.isEmpty && takeRoom(&state))
        }
        if hasRoom { onRoom() }
        return elements
    }

    /// The next element, which may have come since ``next()`` looked.
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
    /// The same for events, of which there are many: not generic for its callers in other modules.
    package func add(event: RealtimeEvent) -> Added {
        let read = event.bytes.withUnsafeBytes { (address: $0.baseAddress, byteCount: $0.count) }
        return add(
            event, byteCount: event.byteCount,
            of: View(read: read.address, readByteCount: read.byteCount, copy: { $0.detached() }))
    }
}
