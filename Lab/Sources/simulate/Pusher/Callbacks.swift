import PusherProtocol
import Realtime

/// The callback queue: what waits to be told, and whether it is too much.
struct Callbacks {
    /// One batch of notices, as far as it is not delivered.
    private var batches: [(notices: ArraySlice<ClientMachine.Notice>, count: Int)] = []
    private(set) var count = 0
    var isRunning = false
    var isFull = false
    var isClosed = false
    let reader = EventReader(.callback, eventName: nil, channelName: nil)

    var isEmpty: Bool { batches.isEmpty }

    mutating func add(_ notices: [ClientMachine.Notice]) {
        batches.append((notices[...], notices.count))
        count += notices.count
    }

    /// - Returns: The next notice, and whether it is the last of its batch.
    mutating func popFirst() -> ClientMachine.Notice? {
        guard !batches.isEmpty else { return nil }
        return batches[0].notices.popFirst()
    }

    /// Forgets the first batch if it is done. Only then its room is free.
    mutating func finishBatch() -> Bool {
        guard let first = batches.first, first.notices.isEmpty else { return false }
        count -= first.count
        batches.removeFirst()
        return true
    }

    mutating func close() {
        self = Callbacks()
        isClosed = true
    }
}

extension ClientMachine.Notice {
    /// The same with each event for itself, so that anything can happen between two of them.
    var oneByOne: [ClientMachine.Notice] {
        guard case .events(let batch) = self else { return [self] }
        return batch.map { event, channel in
            var single = EventBatch(of: event.bytes, expecting: 1)
            single.append(event, on: channel)
            return .events(single)
        }
    }
}
