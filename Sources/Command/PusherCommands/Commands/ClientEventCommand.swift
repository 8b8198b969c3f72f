import ArgumentParser
import CommandKit
import JSONBytes
import PusherProtocol
import PusherSwift

struct ClientEventCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "client-event", abstract: "Send an event to the other subscribers of a channel, as a client.",
        discussion: """
            The channel must be private or presence, and the event's name must start with client-. DATA is sent as \
            JSON if it is JSON, otherwise as a string; - reads it from standard input. Waits until the server has had \
            time to reject the event.

            With --lines, each line of standard input is sent, in order and over one connection. The server does not \
            say which event it rejects, so the command reports every line that it could be. Lines in flight when the \
            connection was lost are reported and not sent again. Without --rate, \(Int(ClientEventLines.defaultRate)) are \
            sent per second, as servers limit client events. If any line failed, the counts go to standard error, \
            and the exit status is that of the worst failure.

            Examples:
              pusher-cli client-event presence-room client-typing '{"on":1}' --user-id ann
              ./moves | pusher-cli client-event private-map client-moved --lines --rate 5
            """)

    @Argument(help: "A private- or presence- channel.")
    var channel: String

    @Argument(help: "The event's name, including client-.")
    var event: String

    @Argument(help: "The event's data; omit it with --lines.")
    var data: String?

    @OptionGroup var lines: LineOptions

    @OptionGroup var user: UserOptions
    @Option(help: "Give up after this many seconds.")
    var timeout = 30.0
    @OptionGroup var frames: FrameOptions
    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "With -, send standard input unchanged. By default, one line ending at its end is removed.")
    var dataBinary = false

    func checkArguments() throws {
        try Seconds.check("--timeout", timeout)
        guard (data == nil) == lines.lines else { throw ValidationError("Give DATA, or --lines.") }
        guard try NameArguments.channel(channel).allowsClientEvents else {
            throw ValidationError("Client events go to private- and presence- channels, not to “\(channel)”.")
        }
        try NameArguments.clientEvent(event)
    }

    /// With lines, the server is still asked for errors of those that were sent.
    var endsBySignal: Bool { lines.lines }

    func run() async throws {
        let settings = try connection.settings()
        try settings.require(.key)
        settings.announce("publishing to", verbose: connection.verbose)
        guard let data else {
            return try await ClientEventLines(
                pusher: try client(), channel: channel, event: event, rate: lines.rate ?? ClientEventLines.defaultRate,
                patience: .seconds(timeout)
            ).run(signsIn: user.signIn)
        }
        // Before creating the client, for which the user is asked to wait.
        let text = try Input.text(
            given: data, isExact: dataBinary, limit: ClientMachine.maximumClientEventSize)
        let pusher = try client()
        let trouble = Trouble(of: pusher)
        try await withDeadline(.seconds(timeout)) {
            trouble.giveUp(channel, of: pusher, after: timeout)
        } _: {
            try await send(text, through: pusher)
            if let error = trouble.first { throw error }
        }
    }

    private func client() throws -> Pusher {
        try connection.client(as: user, of: [channel]) {
            $0.wireTap = frames.tap(.text)
            $0.limitWaits(to: timeout)
        }
    }

    private func send(_ text: String, through pusher: Pusher) async throws {
        defer { pusher.disconnect() }
        if user.signIn { pusher.user.signIn() }
        let subscription = pusher.subscribe(channel)
        try await pusher.connected()
        try await subscription.subscribed()
        if JSONView.isJSON(text) {
            try subscription.trigger(event, json: text)
        } else {
            try subscription.trigger(event, text)
        }
        // The server reports an error before its answer to a ping.
        _ = try await pusher.connection.ping()
    }
}
