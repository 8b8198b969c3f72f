import Dispatch
import PusherProtocol
import Realtime
import Synchronization
import Transport

/// Runs the application's code, in order and one piece at a time, never with a lock held.
///
/// Notices cross to the queue through a locked inbox that one block empties, so a batch costs one hop.
final class CallbackQueue: Sendable {
    private enum Item: Sendable {
        /// - Parameter count: Each event counts.
        case notices([ClientMachine.Notice], Load)
        case work(@Sendable () -> Void)

        var load: Load {
            switch self {
            case .notices(_, let load): load
            case .work: Load(count: 1, byteCount: 0)
            }
        }
    }

    /// How much waits.
    struct Load: Sendable {
        var count = 0
        var byteCount = 0

        static func += (lhs: inout Load, rhs: Load) {
            lhs.count += rhs.count
            lhs.byteCount += rhs.byteCount
        }

        static func -= (lhs: inout Load, rhs: Load) {
            lhs.count -= rhs.count
            lhs.byteCount -= rhs.byteCount
        }
    }

    private struct Inbox {
        var items: [Item] = []
        var load = Load()
        var isDraining = false
        /// For whom the source is held.
        var holder: EventReader?
        /// What is being delivered.
        var running: EventBatch?
        var isClosed = false
    }

    private let target: PusherCallbackQueue
    private let own = DispatchQueue(label: "pusher.callbacks")
    private let capacity: Load
    private let inbox = Lock(Inbox())
    /// Which event of the running batch is being delivered; not in the lock, since it changes with each.
    private let position = Atomic(0)

    /// - Parameter capacity: Waiting notices, or their bytes, at which ``add(_:to:)`` asks its user to hold the source.
    init(_ target: PusherCallbackQueue, capacity: Load) {
        self.target = target
        self.capacity = capacity
    }

    /// Hands `notices` to `receiver`. Called on the I/O thread.
    func add(_ notices: [ClientMachine.Notice], to receiver: ClientCore) {
        enqueue(.notices(notices, notices.reduce(into: Load()) { $0 += $1.load }), for: receiver)
    }

    /// Runs code of the application that answers a question.
    func run(for receiver: ClientCore, _ work: @escaping @Sendable () -> Void) {
        enqueue(.work(work), for: receiver)
    }

    /// Forgets what waits. A callback that is running goes on to its end; no other starts.
    func close() {
        let waiting = inbox.withLock { inbox in
            defer { inbox = Inbox(isClosed: true) }
            return inbox.items
        }
        _ = waiting  // let go of after the lock
    }

    private func enqueue(_ item: Item, for receiver: ClientCore) {
        let (mustStart, holder) = inbox.withLock { inbox -> (Bool, EventReader?) in
            guard !inbox.isClosed else { return (false, nil) }
            inbox.items.append(item)
            inbox.load += item.load
            defer { inbox.isDraining = true }
            guard inbox.load.count > capacity.count || inbox.load.byteCount > capacity.byteCount, inbox.holder == nil
            else { return (!inbox.isDraining, nil) }
            inbox.holder = runningCallback(of: inbox)
            return (!inbox.isDraining, inbox.holder)
        }
        if let holder { receiver.holdReading(for: holder) }
        guard mustStart else { return }
        switch target {
        case .own: own.async { [weak receiver] in receiver.map(self.drain) }
        case .queue(let queue): queue.async { [weak receiver] in receiver.map(self.drain) }
        case .inline: drain(for: receiver)
        }
    }

    /// The one that the others wait for.
    private func runningCallback(of inbox: Inbox) -> EventReader {
        let position = position.load(ordering: .relaxed)
        let event = inbox.running.flatMap { $0.indices.contains(position) ? $0[position].event : nil }
        return EventReader(.callback, eventName: event?.eventName, channelName: event?.channelName)
    }

    private func drain(for receiver: ClientCore) {
        var route: Route?
        while true {
            let items = inbox.withLock { inbox -> [Item] in
                defer { inbox.items = [] }
                inbox.isDraining = !inbox.items.isEmpty
                return inbox.items
            }
            guard !items.isEmpty else { return }
            for item in items { run(item, for: receiver, &route) }
        }
    }

    private func run(_ item: Item, for receiver: ClientCore, _ route: inout Route?) {
        switch item {
        case .work(let work):
            // One that was taken from the inbox before it was closed.
            if !inbox.withLock({ $0.isClosed }) { work() }
            finished(item.load, for: receiver)
        case .notices(let notices, _):
            for notice in notices {
                // A closed receiver has no bindings.
                if case .events(let batch) = notice {
                    run(batch, for: receiver, &route)
                } else {
                    receiver.deliver(notice)
                }
                finished(notice.load, for: receiver)
            }
            receiver.wakeUps.run()
        }
    }

    private func run(_ batch: EventBatch, for receiver: ClientCore, _ route: inout Route?) {
        position.store(0, ordering: .relaxed)
        inbox.withLock { $0.running = batch }
        var index = 0
        batch.forEach { event, channel, isLikeTheLast in
            position.store(index, ordering: .relaxed)
            receiver.deliver(event, on: channel, isLikeTheLast: isLikeTheLast, by: &route)
            index += 1
        }
    }

    private func finished(_ load: Load, for receiver: ClientCore) {
        let holder = inbox.withLock { inbox -> EventReader? in
            inbox.load -= load
            inbox.running = nil
            guard inbox.load.count <= capacity.count / 2, inbox.load.byteCount <= capacity.byteCount / 2 else {
                return nil
            }
            defer { inbox.holder = nil }
            return inbox.holder
        }
        if let holder { receiver.releaseReading(for: holder) }
    }
}

extension ClientMachine.Notice {
    /// Each event counts.
    fileprivate var load: CallbackQueue.Load {
        if case .events(let batch) = self {
            CallbackQueue.Load(count: batch.count, byteCount: batch.byteCount)
        } else {
            CallbackQueue.Load(count: 1, byteCount: 0)
        }
    }
}
