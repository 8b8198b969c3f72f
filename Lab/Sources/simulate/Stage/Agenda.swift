import Basics

/// Planned events, soonest first; simultaneous ones in order of arrival.
struct Agenda<Event: Sendable>: Sendable {
    private struct Entry: Sendable {
        let time: MonotonicInstant
        let order: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool {
            time == other.time ? order < other.order : time < other.time
        }
    }

    private var heap: [Entry] = []
    private var lastOrder = 0

    var isEmpty: Bool { heap.isEmpty }

    var next: MonotonicInstant? { heap.first?.time }

    mutating func add(_ event: Event, at time: MonotonicInstant) {
        lastOrder += 1
        heap.append(Entry(time: time, order: lastOrder, event: event))
        var index = heap.count - 1
        while index > 0, heap[index].precedes(heap[(index - 1) / 2]) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func popFirst() -> (time: MonotonicInstant, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.time, first.event)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child].precedes(heap[least]) {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
