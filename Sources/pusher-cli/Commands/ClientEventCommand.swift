import ArgumentParser
import JSONBytes
import PusherProtocol
import PusherSwift

struct ClientEventCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-event", abstract: "Send an event to the other subscribers of a channel, as a client.",
        discussion: """
            The channel is private or presence, and the name of the event starts with client-. DATA is sent as JSON if \
            it is JSON, else as a string; - reads it from standard input. Waits until the server has had time to reject it.

            Example:
              pusher-cli client-event presence-room client-typing '{"on":true}' --user-id ann
            """)

    @Argument(help: "A private- or presence- channel.")
    var channel: String

    @Argument(help: "The event's name, client- included.")
    var event: String

    @Argument(help: "The event's data.")
    var data: String

    @OptionGroup var user: UserOptions
    @Option(help: "Give up after this many seconds.")
    var timeout = 30.0
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try Seconds.check("--timeout", timeout)
    }

    func run() async throws {
        let pusher = try connection.client(as: user)
        if let member = user.presenceMember { pusher.connection.userDataFetcher = { member } }
        let timeout = timeout
        let trouble = FirstError()
        pusher.delegate = trouble
        try await ExitStatus.reporting {
            let text = try Input.text(given: data)
            _ = try await SignalWatch.interrupting {
                try await withDeadline(.seconds(timeout)) {
                    guard pusher.connection.connectionState == .connected else {
                        return CommandFailure(.unavailable, "no connection within \(timeout) s")
                    }
                    let reason = trouble.error.map { ": \($0)" } ?? ""
                    return CommandFailure(.refused, "\(channel) was not subscribed within \(timeout) s\(reason)")
                } _: {
                    try await send(text, through: pusher)
                    if let error = trouble.error { throw error }
                }
            }
        }
    }

    private func send(_ text: String, through pusher: Pusher) async throws {
        if user.signIn { pusher.user.signIn() }
        let subscription = pusher.subscribe(channel)
        try await pusher.connected()
        try await subscription.subscribed()
        if JSONView.isJSON(text) {
            try subscription.trigger(event, json: text)
        } else {
            try subscription.trigger(event, text)
        }
        // Whatever the server has against it comes before its answer to a ping.
        _ = try await pusher.connection.ping()
        pusher.disconnect()
    }
}
