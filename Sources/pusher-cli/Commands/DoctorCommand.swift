import ArgumentParser
import PusherSwift

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Connect once and explain: every step with its time, or what is wrong.",
        discussion: """
            Checks name resolution, TCP, TLS, the WebSocket and Pusher handshakes and a ping; then the subscriptions \
            of the channels given, authorization included.

            Example:
              pusher-cli doctor private-orders --cluster eu
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @OptionGroup var user: UserOptions

    @Option(help: "Give up after this many seconds.")
    var timeout = 15.0

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try Seconds.check("--timeout", timeout)
    }

    func run() async throws {
        var options = try connection.clientOptions()
        try user.apply(to: &options)
        options.autoReconnect = false
        options.connectTimeout = .seconds(timeout)
        options.authTimeout = .seconds(timeout)
        options.subscriptionTimeout = .seconds(timeout)
        options.maximumAuthRetries = 0
        let pusher = Pusher(key: try connection.requireKey(), options: options)
        if let member = user.presenceMember { pusher.connection.userDataFetcher = { member } }
        let json = json
        let examination = Examination(pusher: pusher, timeout: .seconds(timeout)) { finding in
            _ =
                json
                ? StandardOutput.write(json: finding.json) : StandardOutput.write(finding.text(style: .standardOutput))
        }
        let (channels, signsIn) = (channels, user.signIn)
        let status = try await SignalWatch.interrupting {
            await examination.run(channels: channels, signsIn: signsIn)
        }
        pusher.disconnect()
        try status?.exit()
    }
}
