// CPU time from the first to the last event of a bound callback, all threads together.
//
//     DispatchBench PORT untouched|text
import Dispatch
import PusherSwift

func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Touched by the client's serial callback queue alone.
final class Counter: @unchecked Sendable {
    var events = 0
    var bytes = 0
    var start = 0.0
}

@main
struct DispatchBench {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let port = Int(CommandLine.arguments[1]) else { exit(64) }
        let readsText = CommandLine.arguments[2] == "text"
        var options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
        options.proxy = ""
        let pusher = Pusher(key: "key", options: options)
        let counter = Counter()
        let channel = pusher.subscribe("bench")
        channel.bind(eventName: "price") { event in
            if counter.events == 0 { counter.start = cpuSeconds() }
            counter.events += 1
            if readsText { counter.bytes += event.data?.utf8.count ?? 0 }
        }
        channel.bind(eventName: "done") { _ in
            let seconds = cpuSeconds() - counter.start
            print("{\"events\":\(counter.events),\"cpu_seconds\":\(seconds),\"bytes\":\(counter.bytes)}")
            exit(0)
        }
        pusher.connect()
        try await Task.sleep(for: .seconds(120))
        exit(75)
    }
}
