// The latency of each of many events through a relay and a stream: from before the sender of the Pusher server writes
// it until a consumer of the stream has it.
//
//     ConsumerBench nats URL events N
//
// An event's data begins with the time at which it was sent. Prints nanoseconds, one line per event.
import EventRelay
import Foundation
import Measuring

@main
struct ConsumerBench {
    static func main() async throws {
        let arguments = Arguments()
        var options = EventConsumerOptions()
        options.start = .beginning
        let consumer = EventConsumer(nats: try NATSOptions(arguments["nats"] ?? ""), options: options)
        let expected = arguments.number("events")
        var samples: [Int] = []
        for await message in consumer.events("tick") {
            samples.append(nanoseconds() - (Int(message.value.data?.prefix(20) ?? "") ?? 0))
            guard samples.count < expected else { break }
        }
        print(samples.map(String.init).joined(separator: "\n"))
    }
}
