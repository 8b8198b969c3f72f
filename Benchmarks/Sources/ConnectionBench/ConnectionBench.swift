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
        func connect(_ count: Int) async -> [Pusher] {
            let clients = (0..<count).map { _ in Pusher(key: "app-key", options: options) }
            for client in clients {
                client.subscribe("bench")
                client.connect()
            }
            for client in clients {
                for await state in client.connection.states where state == .connected { break }
            }
            return clients
        }
        let first = await connect(1)  // what the process needs anyway
        let (before, start, startCPU) = (residentBytes(), nanoseconds(), cpuSeconds())
        let clients = await connect(count)
        let connected = nanoseconds()
        let connectCPU = cpuSeconds() - startCPU
        let growth = residentBytes() - before
        let idle = arguments.number("idle", default: 0)
        if idle > 0 { try await Task.sleep(for: .seconds(1)) }  // the last answers to subscriptions
        let idleStart = cpuSeconds()
        try await Task.sleep(for: .seconds(idle))
        let idleCPU = cpuSeconds() - idleStart
        withExtendedLifetime((first, clients)) {}
        finish([
            "rss_per_connection_bytes": Double(growth) / Double(count),
            "connect_seconds": Double(connected - start) / 1e9, "connect_cpu_seconds": connectCPU,
            "idle_cpu_seconds": idleCPU,
        ])
    }
}
