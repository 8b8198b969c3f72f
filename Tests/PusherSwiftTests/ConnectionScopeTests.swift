import PusherMockServer
import PusherSwift
import ServiceLifecycle
import ServiceLifecycleTestKit
import TestSupport
import Testing

/// Connections as long as a scope or a service lives.
@Suite(.overSockets)
struct ConnectionScopeTests {
    private struct Interrupted: Error {}

    private let key = PusherMockServer.App.defaultKey

    @Test func theScopeConnectsAndLeavesNothingBehind() async throws {
        try await withServer { server in
            let count = try await Pusher.withConnection(key: key, options: .local(server)) { pusher in
                #expect(pusher.connection.connectionState == .connected)
                return await server.state.connections.count
            }
            #expect(count == 1)
            #expect(await server.waitFor { $0.connections.isEmpty })
        }
    }

    @Test func theScopeEndsWithAnErrorToo() async throws {
        try await withServer { server in
            await #expect(throws: Interrupted.self) {
                try await Pusher.withConnection(key: key, options: .local(server)) { _ in throw Interrupted() }
            }
            #expect(await server.waitFor { $0.connections.isEmpty })
        }
    }

    @Test func aRefusalIsThrown() async throws {
        try await withServer { server in
            let error = await #expect(throws: PusherError.self) {
                try await Pusher.withConnection(key: "wrong", options: .local(server)) { _ in }
            }
            #expect(error?.code == 4001)
        }
    }

    @Test func cancellingEndsTheWaitForAConnection() async throws {
        try await withServer { server in
            await server.failHandshakes(.never)
            let task = Task { try await Pusher.withConnection(key: key, options: .local(server)) { _ in } }
            #expect(await server.waitFor { $0.tcpConnectionCount == 1 })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await server.waitFor { $0.tcpConnectionCount == 0 })
        }
    }

    @Test func aServiceRunsUntilTheGracefulShutdown() async throws {
        try await withServer { server in
            let pusher = Pusher(key: key, options: .local(server))
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await pusher.run() }
                    #expect(await server.waitFor { $0.connections.count == 1 })
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            #expect(pusher.connection.connectionState == .disconnected)
            #expect(await server.waitFor { $0.connections.isEmpty })
        }
    }

    @Test func aServiceThatIsRefusedThrows() async throws {
        try await withServer { server in
            let pusher = Pusher(key: "wrong", options: .local(server))
            let error = await #expect(throws: PusherError.self) { try await pusher.run() }
            #expect(error?.code == 4001)
        }
    }

    @Test func pingsAreTimed() async throws {
        try await withServer { server in
            let pusher = Pusher(key: key, options: .local(server))
            await #expect(throws: PusherError.self) { try await pusher.connection.ping() }
            try await pusher.connected()
            #expect(try await pusher.connection.ping() < .seconds(60))
        }
    }
}
