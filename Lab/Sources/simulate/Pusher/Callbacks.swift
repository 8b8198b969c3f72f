import PusherProtocol
import Realtime

/// The callback queue: pending notices, and whether there are too many.
struct Callbacks {
    /// The undelivered rest of each batch of notices.
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

    /// - Returns: The next notice.
    mutating func popFirst() -> ClientMachine.Notice? {
        guard !batches.isEmpty else { return nil }
        return batches[0].notices.popFirst()
    }

    /// Removes the first batch if it is finished, which frees its space.
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
    /// The notice split into single events, so that anything can happen between two of them.
    var oneByOne: [ClientMachine.Notice] {
        guard case .events(let batch) = self else { return [self] }
        return batch.map { event, channel in
            var single = EventBatch(of: event.bytes, expecting: 1)
            single.append(event, on: channel)
            return .events(single)
        }
    }
}
