import Basics
import PusherTestSupport
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// A workspace's events from an in-process server, as lines, with time running fast.
struct EventScene: Sendable {
    let scene: PydioScene
    let events: PydioWorkspaceEvents
    let recorder = Recorder()

    var server: FakePydioServer { scene.server }

    /// How the server reports changes.
    enum Way: Sendable {
        case polls
        case webSocket
        case feed
        case feedAndWebSocket
    }

    static func configuration(_ mode: FakePydioMode, _ way: Way) -> FakePydioServer.Configuration {
        var configuration = FakePydioServer.Configuration(mode: mode)
        configuration.hasChanges = way == .feed || way == .feedAndWebSocket
        configuration.hasWebSocket = way == .webSocket || way == .feedAndWebSocket
        return configuration
    }

    static func fast(_ change: (inout PydioEventsOptions) -> Void = { _ in }) -> PydioEventsOptions {
        var options = PydioEventsOptions()
        options.pollInterval = .milliseconds(10)
        options.minimumPollInterval = .milliseconds(10)
        options.errorDelay = .milliseconds(10)
        options.reconnectPolicy = .exponential(base: .milliseconds(10), maximumDelay: .milliseconds(50))
        options.socketPolicy = .exponential(base: .milliseconds(10), maximumDelay: .milliseconds(50))
        change(&options)
        return options
    }

    init(
        _ scene: PydioScene, workspace: String = "0", _ change: (inout PydioEventsOptions) -> Void = { _ in }
    ) {
        self.scene = scene
        events = PydioWorkspaceEvents(client: scene.client, workspaceId: workspace, options: Self.fast(change))
        let recorder = recorder
        events.bind { recorder.add(Self.line($0)) }
    }

    /// Runs `body` with a connected scene.
    static func with(
        _ mode: FakePydioMode, _ way: Way, _ change: (inout PydioEventsOptions) -> Void = { _ in },
        _ body: (EventScene) async throws -> Void
    ) async throws {
        try await PydioScene.with(configuration(mode, way)) { pydio in
            let scene = EventScene(pydio, change)
            scene.events.start()
            #expect(await scene.isConnected())
            if way == .webSocket || way == .feedAndWebSocket { #expect(await scene.isOnSocket()) }
            try await body(scene)
            scene.events.close()
        }
    }

    /// `node_created /a`, with further details.
    static func line(_ event: PydioEvent) -> String {
        var line = String(event.name.dropFirst(6))
        if let path = event.path { line += " " + path }
        if let original = event.originalPath { line += " < " + original }
        if event.isLate { line += " late" }
        if let state = event.state { line += " " + state.stringValue() }
        return line
    }

    /// The lines about nodes.
    var nodes: [String] { recorder.all.filter { $0.hasPrefix("node_") } }

    func isConnected() async -> Bool { await eventually { events.state == .connected } }

    /// Whether a WebSocket has taken over: it is registered, and the mailbox is no longer used.
    func isOnSocket() async -> Bool {
        await eventually { server.webSockets.contains("0") && server.pollers.isEmpty && events.state == .connected }
    }

    /// Whether the lines about nodes eventually equal these.
    func tells(_ lines: [String]) async -> Bool { await eventually(within: .seconds(20)) { nodes == lines } }

    func makeFolder(_ name: String) {
        server.act("mkdir", ["dir": "/", "dirname": name], as: "ada")
    }
}
