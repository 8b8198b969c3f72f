// Many connected and subscribed clients in one process: resident memory, time to connect all, CPU when idle.
//
//     ConnectionBench port N connections N [idle SECONDS]
import Foundation
import Measuring
import PusherSwift

@main
struct ConnectionBench {
    static func main() async throws {
        let arguments = Arguments()
        let count = arguments.number("connections")
        let options = arguments.options
        raiseDescriptorLimit()
        func add() -> (client: Pusher, channel: PusherChannel) {
            let client = Pusher(key: "app-key", options: options)
            let channel = client.subscribe("bench")
            client.connect()
            return (client, channel)
        }
        let first = add()  // what the process needs in any case
        while !first.channel.subscribed { try await Task.sleep(for: .milliseconds(1)) }

        let (before, start) = (residentBytes(), nanoseconds())
        let clients = (0..<count).map { _ in add() }
        for (client, _) in clients {
            for await state in client.connection.states where state == .connected { break }
        }
        let connected = nanoseconds()
        for (_, channel) in clients {
            while !channel.subscribed { try await Task.sleep(for: .milliseconds(1)) }
        }
        let growth = residentBytes() - before
        let idle = arguments.number("idle", default: 0)
        let idleStart = cpuSeconds()
        try await Task.sleep(for: .seconds(idle))
        let idleCPU = cpuSeconds() - idleStart
        withExtendedLifetime((first, clients)) {}
        finish([
            "rss_per_connection_bytes": Double(growth) / Double(count),
            "connect_seconds": Double(connected - start) / 1e9, "idle_cpu_seconds": idleCPU,
        ])
    }
}
