import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// Connections that live as long as a scope. ConnectionScopeTests+Service.swift covers services.
@Suite(.overSockets)
struct ConnectionScopeTests {
    private struct Interrupted: Error {}

    let key = PusherMockServer.App.defaultKey

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

    // MARK: Apparent ends

    /// Lets `start` begin while the first handshake hangs, and then switches to the other application.
    func move<Value: Sendable>(
        _ server: PusherMockServer, while start: @escaping @Sendable (Pusher) async throws -> Value
    ) async -> (Pusher, Task<Value, any Error>) {
        await server.failHandshakes(.never, next: 1)
        let pusher = Pusher(key: Self.here.key, options: .local(server))
        let task = Task { try await start(pusher) }
        #expect(await eventually { pusher.connection.steps.webSocket != nil })  // this handshake is the one that hangs
        pusher.switchCluster(key: Self.there.key, host: .host("localhost"))
        return (pusher, task)
    }

    static let here = PusherMockServer.App(id: "1", key: "here")
    static let there = PusherMockServer.App(id: "2", key: "there")

    @Test func goingToAnotherServerIsNotTheEndOfAWaitForAConnection() async throws {
        try await withServer(.init(apps: [Self.here, Self.there])) { server in
            let (pusher, task) = await move(server) { try await $0.connected() }
            try await task.value
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    /// Returns a client that must reconnect while it is still disconnecting, because the server does not answer the
    /// close.
    func makeDisconnecting(_ server: PusherMockServer) async throws -> Pusher {
        let pusher = Pusher(key: key, options: .local(server))
        try await pusher.connected()
        try await server.inject(.goSilent, into: #require(pusher.connection.socketId))
        pusher.disconnect()
        #expect(pusher.connection.connectionState == .disconnecting)
        return pusher
    }

    @Test func aDisconnectUnderWayIsNotTheEndOfAWaitForAConnection() async throws {
        try await withServer { server in
            let pusher = try await makeDisconnecting(server)
            try await pusher.connected()
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    @Test(arguments: [PusherPingForm.event, .controlFrame])
    func pingsAreTimed(form: PusherPingForm) async throws {
        try await withServer { server in
            var options = PusherClientOptions.local(server)
            options.pingForm = form
            let pusher = Pusher(key: key, options: options)
            await #expect(throws: PusherError.self) { try await pusher.connection.ping() }
            try await pusher.connected()
            #expect(try await pusher.connection.ping() < .seconds(60))
            let isControl = await server.state.history.contains { entry in
                if case .pingReceived = entry { true } else { false }
            }
            #expect(isControl == (form == .controlFrame))
        }
    }

    @Test func theStepsOfTheConnectionAreKnown() async throws {
        try await withServer { server in
            let pusher = Pusher(key: key, options: .local(server))
            #expect(pusher.connection.steps.tcp == nil)
            try await pusher.connected()
            let steps = pusher.connection.steps
            #expect(steps.address == "127.0.0.1")
            #expect(steps.nameLookup != nil && steps.tcp != nil && steps.webSocket != nil && steps.established != nil)
            #expect(steps.tls == nil)
        }
    }

    @Test func anotherServerIsReachedWithTheSameChannels() async throws {
        let here = PusherMockServer.App(id: "1", key: "here")
        let there = PusherMockServer.App(id: "2", key: "there")
        try await withServer(.init(apps: [here, there])) { server in
            let pusher = Pusher(key: "here", options: .local(server))
            let channel = pusher.subscribe("private-x")
            pusher.connect()
            try await channel.subscribed()
            pusher.switchCluster(key: "there", host: .host("localhost"))
            #expect(
                await server.waitFor { $0.channels(app: "there") == ["private-x"] && $0.channels(app: "here").isEmpty })
            #expect(pusher.connection.key == "there")
            #expect(pusher.connection.channels.find(name: "private-x") === channel)
        }
    }
}
