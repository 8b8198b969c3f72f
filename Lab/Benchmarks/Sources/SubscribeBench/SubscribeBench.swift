// One client subscribes to many private channels, loses its connection, and subscribes to all of them again.
//
//     SubscribeBench port N channels N
//
// Channels are authorized in batches, without a server; each request is counted.
import Foundation
import Measuring
import PusherSwift

/// Signs at once: no server is involved, and the source does not check signatures.
private final class CountingAuthorizer: BatchAuthorizer, @unchecked Sendable {  // the lock protects the rest
    private let lock = NSLock()
    private var requests = 0

    /// Returns the number of requests since the last call.
    func takeRequests() -> Int {
        lock.withLock {
            defer { requests = 0 }
            return requests
        }
    }

    func authorize(socketID: String, channelNames: [String]) async throws -> [String: PusherAuth] {
        lock.withLock { requests += 1 }
        return Dictionary(uniqueKeysWithValues: channelNames.map { ($0, PusherAuth(auth: "app-key:0")) })
    }
}

/// Measures rounds, each from the start of connecting to the last channel's confirmation. Used only on the callback
/// queue.
private final class Rounds: PusherDelegate, @unchecked Sendable {
    private let channels: Int
    private let authorizer: CountingAuthorizer
    private var names = ["", "again_"]
    private var figures: [String: Double] = [:]
    private var subscribed = 0
    private var start = 0
    private var startCPU = 0.0

    init(channels: Int, authorizer: CountingAuthorizer) {
        self.channels = channels
        self.authorizer = authorizer
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        guard new == .connecting || new == .reconnecting else { return }
        (start, startCPU, subscribed) = (nanoseconds(), cpuSeconds(), 0)
    }

    func subscribedToChannel(name: String) {
        subscribed += 1
        guard subscribed == channels else { return }
        let name = names.removeFirst()
        figures[name + "seconds"] = Double(nanoseconds() - start) / 1e9
        figures[name + "cpu_seconds"] = cpuSeconds() - startCPU
        figures[name + "auth_requests"] = Double(authorizer.takeRequests())
        if names.isEmpty { finish(figures) }
    }
}

@main
struct SubscribeBench {
    static func main() async throws {
        let arguments = Arguments()
        let authorizer = CountingAuthorizer()
        var options = arguments.options
        options.authMethod = .batch(authorizer: authorizer)
        options.reconnectPolicy = .exponential(base: .milliseconds(1), maximumDelay: .milliseconds(1))
        let pusher = Pusher(key: "app-key", options: options)
        let rounds = Rounds(channels: arguments.number("channels"), authorizer: authorizer)
        pusher.delegate = rounds
        for index in 0..<arguments.number("channels") { pusher.subscribe("private-c\(index)") }
        pusher.connect()
        try await Task.sleep(for: .seconds(120))
        withExtendedLifetime(rounds) {}
        exit(75)
    }
}
