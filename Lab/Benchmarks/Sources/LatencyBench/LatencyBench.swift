// The latency of each of many events: from before the sender writes it until the callback has it.
//
//     LatencyBench port N events N [delivery callback|inline]
//
// An event's data begins with the time at which it was sent. Prints nanoseconds, one line per event.
import Foundation
import Measuring
import PusherSwift

/// Used by one thread at a time.
private final class Samples: @unchecked Sendable {
    private let expected: Int
    private var nanoseconds: [Int] = []

    init(expected: Int) {
        self.expected = expected
        nanoseconds.reserveCapacity(expected)
    }

    func add(_ event: PusherEvent) {
        let now = Measuring.nanoseconds()
        nanoseconds.append(now - (Int(event.data?.prefix(20) ?? "") ?? 0))
        guard nanoseconds.count == expected else { return }
        print(nanoseconds.map(String.init).joined(separator: "\n"))
        exit(0)
    }
}

@main
struct LatencyBench {
    static func main() async throws {
        let arguments = Arguments()
        let samples = Samples(expected: arguments.number("events"))
        let pusher = Pusher(key: "app-key", options: arguments.options)
        pusher.subscribe("c0").bind(eventName: "tick", eventCallback: samples.add)
        pusher.connect()
        try await Task.sleep(for: .seconds(300))
        exit(75)
    }
}
