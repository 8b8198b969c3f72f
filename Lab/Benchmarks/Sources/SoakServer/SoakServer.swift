// The mock server of the soak: publishes numbered events, with random faults.
//
//     SoakServer SEED CHANNELS EVENTS_PER_SECOND RECORDS
//
// Commands on standard input: `publish`, `restart` (once), `fail` (faults from now on), `calm` (no more faults),
// `finish` (one last event to each channel). RECORDS gets `channel milliseconds` for each event, in the order of
// publishing.
import Foundation
import Measuring
import PusherMockServer
import SoakSupport

/// Faults of a single connection. None may delay events for long (pieces leave one per millisecond): while old ones
/// arrive the connection looks alive, and when it ends the delayed ones are missing from before its gap.
private let connectionFaults: [PusherMockServer.ConnectionFault] =
    [.dropTCP, .resetTCP, .goSilent, .ignorePings, .ping([1, 2, 3])]
    + [nil, 1000, 1001, 1011, 3000, 4100, 4199, 4200, 4201, 4299].map { .close(code: $0, reason: "soak") }
    + ["{nonsense", "", "[]", #"{"event":7}"#, #"{"event":"tick","channel":"nobody's","data":"1"}"#].map { .text($0) }
    + [
        .binary([0, 255]), .bytes([0xFF, 0xFF, 0, 0]), .hugeText(byteCount: 2_000), .fragmentFrames(byteCount: 7),
        .splitWrites(byteCount: 10), .delayFrames(.milliseconds(200)),
    ]

/// Faults of new connections.
private let handshakeFaults: [PusherMockServer.HandshakeFault] = [
    .refuseConnection, .httpStatus(503), .refuse(code: 4100, message: "Over capacity"), .never, .text("{nonsense"),
    .close(code: 4200, reason: "soak"), .errorFirst(code: nil, message: "soak"), .delay(.seconds(1)),
]

private actor Soak {
    private var server: PusherMockServer
    private var random: SeededGenerator
    private let channels: [String]
    private let records: Records
    private var published: [Int]
    /// Connections on which further events would be a sign of life.
    private var silenced: Set<String> = []
    private var isFailing = false
    private var isPublishing = false
    private(set) var counts: [String: Int] = [:]

    init(server: PusherMockServer, seed: UInt64, channelCount: Int, records: Records) {
        self.server = server
        random = SeededGenerator(seed: seed)
        channels = (0..<channelCount).map(soakChannelName)
        published = Array(repeating: 0, count: channelCount)
        self.records = records
    }

    var port: Int { server.port }

    func publish(eventsPerSecond: Double) async throws {
        isPublishing = true
        let start = ContinuousClock.now
        var count = 0.0
        while isPublishing {
            while isPublishing, count < eventsPerSecond * (start.duration(to: .now) / .seconds(1)) {
                await publish(on: Int.random(in: 0..<channels.count, using: &random))
                count += 1
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func publish(on channel: Int) async {
        published[channel] += 1
        records.add("\(channel) \(milliseconds())")
        await server.publish(event: "tick", channel: channels[channel], data: "\(published[channel])")
    }

    /// Each connection has a fault about every half minute, all of them lose their server about as often, and some new
    /// ones fail.
    func fail() async throws {
        isFailing = true
        while isFailing {
            try await Task.sleep(for: .milliseconds(100))
            let connections = await server.state.connections.map(\.socketID).sorted()
            silenced.formIntersection(connections)
            for socketID in connections where random.chance(0.1 / 30) && !silenced.contains(socketID) {
                guard isFailing, let fault = connectionFaults.randomElement(using: &random) else { break }
                // A connection that has already ended needs no fault.
                try? await server.inject(fault, into: socketID)
                if fault == .goSilent { silenced.insert(socketID) }
                counts["faults", default: 0] += 1
            }
            if isFailing, random.chance(0.05), let fault = handshakeFaults.randomElement(using: &random) {
                await server.failHandshakes(fault, next: Int.random(in: 1...10, using: &random))
                counts["handshake_faults", default: 0] += 1
            }
            if isFailing, random.chance(0.1 / 30) { try await restart() }
        }
    }

    func restart() async throws {
        await server.stop()
        try await Task.sleep(for: .seconds(Double.random(in: 0...2, using: &random)))
        server = try await PusherMockServer.start(server.configuration)
        counts["restarts", default: 0] += 1
    }

    func calm() async {
        isFailing = false
        await server.clearFaults()
    }

    func finish() async {
        isPublishing = false
        for channel in channels.indices { await publish(on: channel) }
        records.flush()
    }
}

@main
struct SoakServer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let seed = UInt64(arguments[1]), let channelCount = Int(arguments[2]),
            let rate = Double(arguments[3])
        else { exit(64) }
        raiseDescriptorLimit()
        let app = PusherMockServer.App(activityTimeout: .seconds(20), pongTimeout: .seconds(10))
        let soak = Soak(
            server: try await .start(.init(apps: [app], historyLimit: 0)), seed: seed, channelCount: channelCount,
            records: try Records(path: arguments[4]))
        say("listening on 127.0.0.1:\(await soak.port)")
        var work: [Task<Void, any Error>] = []
        for await order in orders() {
            switch order {
            case "publish": work.append(Task { try await soak.publish(eventsPerSecond: rate) })
            case "restart":
                try await soak.restart()
                say("restarted")
            case "fail": work.append(Task { try await soak.fail() })
            case "calm":
                await soak.calm()
                if work.count > 1 { try await work.removeLast().value }
                await soak.calm()  // clears faults that are still armed
                say(String(decoding: try JSONEncoder().encode(await soak.counts), as: UTF8.self))
            case "finish":
                await soak.finish()
                say("finished")
            default: exit(64)
            }
        }
        exit(0)
    }
}
