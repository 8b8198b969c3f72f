// Resident memory and open descriptors of one client that its server disconnects again and again.
//
//     ReconnectBench PORT RECONNECTS
//
// The server drops each connection once it has subscribed to `last` (Lab/soak).
import Foundation
import Measuring
import PusherSwift

func openDescriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}

@main
struct ReconnectBench {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let port = Int(CommandLine.arguments[1]),
            let count = Int(CommandLine.arguments[2])
        else { exit(64) }
        var options = PusherClientOptions(
            authMethod: .inline(secret: "app-secret"), host: .host("127.0.0.1"), port: port, useTLS: false)
        options.proxy = ""
        options.reconnectPolicy = .exponential(base: .milliseconds(1), maximumDelay: .milliseconds(1))
        options.userAuthMethod = .inline(secret: "app-secret", user: PusherUserData(id: "u", watchlist: ["v"]))
        let pusher = Pusher(key: "app-key", options: options)
        for name in ["public", "private-x", "presence-x", "cache-x", "last"] {
            let channel = pusher.subscribe(name)
            channel.bind { _ in }
            channel.onGap = { _ in }
        }
        pusher.user.signIn()
        let states = pusher.connection.states
        pusher.connect()
        let start = ContinuousClock.now
        var connected = 0
        var samples: [(Int, Int, Int)] = []
        for await state in states where state == .connected {
            connected += 1
            if connected % (count / 10) == 0 { samples.append((connected, residentBytes(), openDescriptors())) }
            if connected == count { break }
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let text = samples.map { #"{"reconnects":\#($0.0),"rss_bytes":\#($0.1),"descriptors":\#($0.2)}"# }
        print(#"{"seconds":\#(seconds),"samples":[\#(text.joined(separator: ","))]}"#)
        exit(0)
    }
}
