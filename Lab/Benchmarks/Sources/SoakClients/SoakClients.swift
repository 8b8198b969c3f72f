// The clients of the soak: each follows some channels, and records the events it receives and the gaps reported to it.
//
//     SoakClients PORT SEED CLIENTS CHANNELS_EACH CHANNELS RECORDS
//
// Prints a line of JSON each second; `finish` on standard input ends it. A feed is one channel of one client. RECORDS:
//
//     F feed channel               the channel of a feed
//     M feed first last            missing numbers, though a later one arrived
//     G feed from to               a gap that the client reported, in milliseconds
//     L feed last delivered wrong  at the end: the last number, how many arrived, how many out of order or twice
import Foundation
import Measuring
import PusherSwift
import SoakSupport

/// One channel of one client.
private final class Feed: @unchecked Sendable {  // the lock protects the rest
    let number: Int
    private let records: Records
    private let lock = NSLock()
    private var last = 0
    private var delivered = 0
    private var wrong = 0

    init(number: Int, channel: Int, records: Records) {
        self.number = number
        self.records = records
        records.add("F \(number) \(channel)")
    }

    func received(_ event: PusherEvent) {
        let value = event.data.flatMap { Int($0) } ?? 0
        lock.withLock {
            delivered += 1
            guard value > last else {
                wrong += 1
                return
            }
            if value > last + 1 { records.add("M \(number) \(last + 1) \(value - 1)") }
            last = value
        }
    }

    func missed(_ gap: PusherGap) {
        records.add("G \(number) \(milliseconds(gap.start)) \(milliseconds(gap.end))")
    }

    var deliveredCount: Int { lock.withLock { delivered } }

    func close() {
        lock.withLock { records.add("L \(number) \(last) \(delivered) \(wrong)") }
    }
}

@main
struct SoakClients {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 7, let port = Int(arguments[1]), let seed = UInt64(arguments[2]),
            let clientCount = Int(arguments[3]), let channelsEach = Int(arguments[4]),
            let channelCount = Int(arguments[5]), channelsEach <= channelCount
        else { exit(64) }
        raiseDescriptorLimit()
        var random = SeededGenerator(seed: seed)
        let records = try Records(path: arguments[6])
        var options = PusherClientOptions(
            authMethod: .inline(secret: "app-secret"), host: .host("127.0.0.1"), port: port, useTLS: false,
            activityTimeout: 5)
        options.pongTimeout = .seconds(5)
        options.connectTimeout = .seconds(10)
        options.proxy = ""
        options.reconnectPolicy = .exponential(base: .milliseconds(500), maximumDelay: .seconds(5))

        var clients: [Pusher] = []
        var channels: [PusherChannel] = []
        var feeds: [Feed] = []
        for _ in 0..<clientCount {
            let pusher = Pusher(key: "app-key", options: options)
            var chosen: Set<Int> = []
            while chosen.count < channelsEach { chosen.insert(Int.random(in: 0..<channelCount, using: &random)) }
            for index in chosen.sorted() {
                let channel = pusher.subscribe(soakChannelName(index))
                let feed = Feed(number: feeds.count, channel: index, records: records)
                channel.bind(eventName: "tick", eventCallback: feed.received)
                channel.onGap = { feed.missed($0) }
                channels.append(channel)
                feeds.append(feed)
            }
            pusher.connect()
            clients.append(pusher)
        }

        let sampling = Task { [clients, channels, feeds] in
            while !Task.isCancelled {
                let sample = [
                    "connected": clients.count { $0.connection.connectionState == .connected },
                    "subscribed": channels.count { $0.subscribed },
                    "delivered": feeds.reduce(0) { $0 + $1.deliveredCount },
                ]
                say(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
                try await Task.sleep(for: .seconds(1))
            }
        }
        for await order in orders() where order == "finish" { break }
        sampling.cancel()
        for feed in feeds { feed.close() }
        records.flush()
        withExtendedLifetime(clients) {}
        exit(0)
    }
}
