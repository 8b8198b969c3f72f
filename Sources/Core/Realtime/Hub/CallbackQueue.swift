import Basics
public import Dispatch
import Synchronization

/// Where the application's callbacks run, always in order and one at a time.
public enum EventCallbackQueue: Sendable {
    /// On a serial queue owned by the client, so that a blocking callback holds up no other client. The default. The
    /// queue uses a thread while callbacks run: a program with many hundred clients should give them a common queue.
    case own
    /// On a queue of the application. It must be serial, or callbacks would lose their order.
    case queue(DispatchQueue)
    /// On the I/O thread of all clients, without a hop. A callback that blocks stops all of them.
    case inline
}

/// The amount of waiting work.
package struct CallbackLoad: Sendable {
    package var count: Int
    package var byteCount: Int

    package init(count: Int = 0, byteCount: Int = 0) {
        (self.count, self.byteCount) = (count, byteCount)
    }

    /// The load of one notice: each of its events counts, or the notice itself if it has none.
    init(of batch: EventBatch?) {
        self.init(count: batch?.count ?? 1, byteCount: batch?.byteCount ?? 0)
    }

    static func += (lhs: inout CallbackLoad, rhs: CallbackLoad) {
        lhs.count += rhs.count
        lhs.byteCount += rhs.byteCount
    }

    static func -= (lhs: inout CallbackLoad, rhs: CallbackLoad) {
        lhs.count -= rhs.count
        lhs.byteCount -= rhs.byteCount
    }
}

/// Runs the application's code in order and one piece at a time, never with a lock held.
///
/// Notices reach the queue through a locked inbox that one block empties, so a batch costs one hop.
final class CallbackQueue<Notice: HubNotice>: Sendable {
    private enum Item: Sendable {
        case notices([Notice], CallbackLoad)
        case work(@Sendable () -> Void, CallbackLoad)

        var load: CallbackLoad {
            switch self {
            case .notices(_, let load), .work(_, let load): load
            }
        }
    }

    private struct Inbox {
        var items = SerialInbox<Item>()
        var load = CallbackLoad()
        var holder: EventReader?
        var running: EventBatch?
        var isClosed = false
    }

    private let target: EventCallbackQueue
    private let own = DispatchQueue(label: "pusher.callbacks")
    private let capacity: CallbackLoad
    private let inbox = Lock(Inbox())
    /// The index of the event being delivered in the running batch. Outside the lock, because it changes with each
    /// event.
    private let position = Atomic(0)

    /// - Parameter capacity: The load of waiting notices at which ``add(_:to:)`` asks the owner to hold the source.
    init(_ target: EventCallbackQueue, capacity: CallbackLoad) {
        self.target = target
        self.capacity = capacity
    }

    /// Passes `notices` to `owner` on the queue. Called by one thread at a time.
    ///
    /// - Parameter load: The load of all notices together.
    func add(_ notices: [Notice], load: CallbackLoad, to owner: some HubOwner<Notice>) {
        enqueue(.notices(notices, load), for: owner)
    }

    /// Runs application code that answers a question.
    func run(for owner: some HubOwner<Notice>, load: CallbackLoad, _ work: @escaping @Sendable () -> Void) {
        enqueue(.work(work, load), for: owner)
    }

    /// Discards waiting work. A running callback completes; no other starts.
    func close() {
        let waiting = inbox.withLock { inbox in
            defer { inbox = Inbox(isClosed: true) }
            return inbox.items.removeAll()
        }
        _ = waiting  // released after the lock
    }

    private func enqueue(_ item: Item, for owner: some HubOwner<Notice>) {
        let (mustStart, holder) = inbox.withLock { inbox -> (Bool, EventReader?) in
            guard !inbox.isClosed else { return (false, nil) }
            inbox.items.add(item)
            inbox.load += item.load
            let isOurs = inbox.items.begin()
            guard inbox.load.count > capacity.count || inbox.load.byteCount > capacity.byteCount, inbox.holder == nil
            else { return (isOurs, nil) }
            inbox.holder = runningCallback(of: inbox)
            return (isOurs, inbox.holder)
        }
        if let holder { owner.holdReading(for: holder) }
        guard mustStart else { return }
        switch target {
        case .own: own.async { [weak owner] in owner.map { self.drain(for: $0) } }
        case .queue(let queue): queue.async { [weak owner] in owner.map { self.drain(for: $0) } }
        case .inline: drain(for: owner)
        }
    }

    /// Returns the callback that the others are waiting for.
    private func runningCallback(of inbox: Inbox) -> EventReader {
        let position = position.load(ordering: .relaxed)
        let event = inbox.running.flatMap { $0.indices.contains(position) ? $0[position].event : nil }
        return EventReader(.callback, eventName: event?.eventName, channelName: event?.channelName)
    }

    private func drain(for owner: some HubOwner<Notice>) {
        var route: Route?
        while true {
            let items = inbox.withLock { $0.items.all() }
            guard !items.isEmpty else { return }
            for item in items { run(item, for: owner, &route) }
        }
    }

    private func run(_ item: Item, for owner: some HubOwner<Notice>, _ route: inout Route?) {
        switch item {
        case .work(let work, _):
            // It may have been taken from the inbox before it was closed.
            if !inbox.withLock({ $0.isClosed }) { work() }
            finished(item.load, for: owner)
        case .notices(let notices, _):
            // A closed hub has neither bindings nor observers.
            for notice in notices {
                let batch = notice.events
                if let batch {
                    run(batch, through: owner.hub, &route)
                } else {
                    owner.hub.wakeUps.run()
                    owner.tell(notice)
                    if !notice.isUrgent { owner.hub.tellObservers(of: notice) }
                }
                finished(CallbackLoad(of: batch), for: owner)
            }
            owner.hub.wakeUps.run()
        }
    }

    private func run(_ batch: EventBatch, through hub: EventHub<Notice>, _ route: inout Route?) {
        position.store(0, ordering: .relaxed)
        inbox.withLock { $0.running = batch }
        var index = 0
        batch.forEach { event, channel, isLikeTheLast in
            position.store(index, ordering: .relaxed)
            hub.deliver(event, on: channel, isLikeTheLast: isLikeTheLast, by: &route)
            index += 1
        }
    }

    private func finished(_ load: CallbackLoad, for owner: some HubOwner<Notice>) {
        let holder = inbox.withLock { inbox -> EventReader? in
            inbox.load -= load
            inbox.running = nil
            guard inbox.load.count <= capacity.count / 2, inbox.load.byteCount <= capacity.byteCount / 2 else {
                return nil
            }
            defer { inbox.holder = nil }
            return inbox.holder
        }
        if let holder { owner.releaseReading(for: holder) }
    }
}
