import Dispatch
import PusherProtocol
import Realtime
import Transport

/// Runs the application's code, in order and one piece at a time, never with a lock held.
///
/// Notices cross to the queue through a locked inbox that one block empties, so a batch costs one hop.
final class CallbackQueue: Sendable {
    private enum Item: Sendable {
        /// - Parameter count: Each event counts.
        case notices([ClientMachine.Notice], count: Int)
        case work(@Sendable () -> Void)

        var count: Int {
            switch self {
            case .notices(_, let count): count
            case .work: 1
            }
        }
    }

    private struct Inbox {
        var items: [Item] = []
        var count = 0
        var isDraining = false
        var isFull = false
        var isClosed = false
    }

    private let target: PusherCallbackQueue
    private let own = DispatchQueue(label: "pusher.callbacks")
    private let capacity: Int
    private let inbox = Lock(Inbox())

    /// - Parameter capacity: Waiting notices at which ``add(_:to:)`` asks its user to hold the source.
    init(_ target: PusherCallbackQueue, capacity: Int) {
        self.target = target
        self.capacity = capacity
    }

    /// Hands `notices` to `receiver`. Called on the I/O thread.
    func add(_ notices: [ClientMachine.Notice], to receiver: ClientCore) {
        enqueue(.notices(notices, count: notices.reduce(0) { $0 + $1.count }), for: receiver)
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
        let (mustStart, isFull) = inbox.withLock { inbox -> (Bool, Bool) in
            guard !inbox.isClosed else { return (false, false) }
            inbox.items.append(item)
            inbox.count += item.count
            let becameFull = inbox.count > capacity && !inbox.isFull
            if becameFull { inbox.isFull = true }
            defer { inbox.isDraining = true }
            return (!inbox.isDraining, becameFull)
        }
        if isFull { receiver.holdReading() }
        guard mustStart else { return }
        switch target {
        case .own: own.async { [weak receiver] in receiver.map(self.drain) }
        case .queue(let queue): queue.async { [weak receiver] in receiver.map(self.drain) }
        case .inline: drain(for: receiver)
        }
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
            work()
            finished(1, for: receiver)
        case .notices(let notices, _):
            for notice in notices {
                // A closed receiver has no bindings.
                if case .events(let batch) = notice {
                    batch.forEach { receiver.deliver($0, on: $1, isLikeTheLast: $2, by: &route) }
                } else {
                    receiver.deliver(notice)
                }
                finished(notice.count, for: receiver)
            }
            receiver.wakeUps.run()
        }
    }

    private func finished(_ count: Int, for receiver: ClientCore) {
        let hasRoom = inbox.withLock { inbox -> Bool in
            inbox.count -= count
            guard inbox.isFull, inbox.count <= capacity / 2 else { return false }
            inbox.isFull = false
            return true
        }
        if hasRoom { receiver.releaseReading() }
    }
}

extension ClientMachine.Notice {
    /// Each event counts.
    fileprivate var count: Int { if case .events(let batch) = self { batch.count } else { 1 } }
}
