import ArgumentParser
import Basics
import CommandKit
import MatrixCommands
import MatrixSDK
import PusherHTTP
import PusherSwift
import PydioCommands
import PydioSDK

struct ListenCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "listen", abstract: "Print everything that happens: events, members, states, errors.",
        discussion: """
            Runs until Ctrl-C, --count or --timeout, and reconnects automatically. With --matrix, the stream includes \
            the events of your Matrix rooms (see pusher-cli matrix login), with --pydio those of Pydio workspaces (see \
            pusher-cli pydio login). With either and without channels, no key is needed.

            --ui shows the same on the whole screen: channels with their rates and members, and events that can be \
            searched, paused, read in full and triggered. ? shows the keys.

            Examples:
              pusher-cli listen presence-room --sign-in --user-id ann --watch bob --json
              pusher-cli listen prices --matrix --notifications --pydio plans
              pusher-cli listen prices orders --ui
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @Flag(help: "Also print the events of Matrix rooms.")
    var matrix = false

    @Flag(help: "Show everything on the whole screen.")
    var ui = false

    @OptionGroup var selection: MatrixListenOptions
    @OptionGroup var pydio: PydioListenOptions
    @OptionGroup var stream: StreamOptions
    @OptionGroup var frames: FrameOptions
    @OptionGroup var user: UserOptions
    @OptionGroup var connection: ConnectionOptions

    func checkArguments() throws {
        try NameArguments.subscribable(channels)
        if ui, stream.output.json || stream.format != nil || stream.raw || stream.exec != nil {
            throw ValidationError("--ui shows events on the screen: use it without --json, --format, --raw and --exec.")
        }
        guard matrix || !selection.isGiven else {
            throw ValidationError("--room, --notifications, --since and --no-catch-up need --matrix.")
        }
        guard
            connection.network.pin == nil
                || [needsPusher, matrix, !pydio.workspaces.isEmpty].count(where: { $0 }) == 1
        else {
            throw ValidationError("--pin is the key of one server: use only one of channels, --matrix and --pydio.")
        }
    }

    private var needsPusher: Bool {
        let hasFeeds = matrix || !pydio.workspaces.isEmpty
        return !hasFeeds || !channels.isEmpty || user.signIn
    }

    func run() async throws {
        let tap = frames.tap(stream.output.json ? .json : .text)
        let client = {
            try connection.client(as: user, of: channels) {
                $0.wireTap = tap
                stream.limitConnecting(&$0)
            }
        }
        let pusher = try needsPusher ? client() : nil
        if ui { return try await watch(pusher) }
        try await EventStream(
            pusher: pusher, channels: channels, as: user, feeds: try feeds(), mode: .everything, options: stream
        ).run().exit()
    }

    @MainActor
    private func watch(_ pusher: Pusher?) async throws {
        guard ScreenProgram.isPossible else {
            throw CommandFailure(.wrongUse, "--ui needs a terminal: without it, events are printed line by line")
        }
        let inbox = WatchInbox()
        let source = WatchDataSource { [weak pusher] name in
            pusher?.connection.channels.findPresence(name: name)?.members.map(\.userId) ?? []
        }
        let screen = WatchViewController(source)
        inbox.receive { screen.source.received($0) }
        let program = ScreenProgram(screen, theme: nil)
        screen.onQuit = { program.quit() }
        screen.onTrigger = trigger
        StandardError.screen.withLock { $0 = { line in Task { @MainActor in screen.show(line.text) } } }
        let events = EventStream(
            pusher: pusher, channels: channels, as: user, feeds: try feeds(), mode: .everything, options: stream,
            form: .screen(inbox))
        let stream = Task {
            let status = await events.run()
            await MainActor.run { program.quit() }
            return status
        }
        // Rates fall even without events.
        let clock = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                screen.secondPassed()
            }
        }
        defer { clock.cancel() }
        do {
            try await program.run()
        } catch {
            events.end()
            throw error
        }
        StandardError.screen.withLock { $0 = nil }
        inbox.close()
        events.end()
        if let trouble = screen.trouble { StandardError.write(TerminalText(trouble)) }
        try await stream.value.exit()
    }

    /// Triggers an event through the HTTP API; `nil` if its credentials are missing.
    private var trigger: ((String, String, String) async throws -> Void)? {
        guard let settings = try? connection.settings(),
            let client = try? settings.httpClient()
        else { return nil }
        return { channel, event, data in _ = try await client.trigger(event: event, channels: [channel], data: data) }
    }

    private func feeds() throws(CommandFailure) -> [any Feed] {
        var feeds: [any Feed] = []
        if matrix {
            let rest = try MXRestClientOptions(connection.network)
            feeds.append(selection.feed(try MatrixAccount(rest)))
        }
        return feeds
            + (try pydio.feeds(try PydioClientOptions(connection.network)))
    }
}
