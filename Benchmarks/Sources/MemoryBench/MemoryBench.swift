// Resident memory of many connected clients in one process.
//
//     MemoryBench PORT COUNT
import PusherSwift

func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

@main
struct MemoryBench {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let port = Int(CommandLine.arguments[1]),
            let count = Int(CommandLine.arguments[2])
        else { exit(64) }
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
        options.proxy = ""
        func connect(_ count: Int) async throws -> [Pusher] {
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
        let first = try await connect(1)  // what the process needs anyway
        let (before, start) = (residentBytes(), ContinuousClock.now)
        let clients = try await connect(count)
        let seconds = start.duration(to: .now) / .seconds(1)
        let growth = residentBytes() - before
        let idleStart = cpuSeconds()
        try await Task.sleep(for: .seconds(5))
        let idle = cpuSeconds() - idleStart
        print(
            "{\"connections\":\(count),\"rss_per_connection_bytes\":\(growth / count),\"connect_seconds\":\(seconds),"
                + "\"idle_cpu_seconds_in_5\":\(idle)}")
        withExtendedLifetime((first, clients)) {}
        exit(0)
    }
}
