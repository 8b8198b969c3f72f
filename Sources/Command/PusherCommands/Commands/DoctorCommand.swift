import ArgumentParser
import CommandKit
import PusherSwift

struct DoctorCommand: AsyncParsableCommand, ArgumentChecking {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Connect once and report each step with its time, or what is wrong.",
        discussion: """
            Checks name resolution, TCP, TLS, the WebSocket and Pusher handshakes, and a ping; then subscribes to the \
            given channels, including authorization.

            Example:
              pusher-cli doctor private-orders --cluster eu
            """)

    @Argument(help: ArgumentHelp("Channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @OptionGroup var user: UserOptions

    @Option(help: "Give up after this many seconds.")
    var timeout = 15.0

    @OptionGroup var output: OutputOptions

    @OptionGroup var frames: FrameOptions
    @OptionGroup var connection: ConnectionOptions

    func checkArguments() throws {
        try Seconds.check("--timeout", timeout)
        try NameArguments.subscribable(channels)
    }

    func run() async throws {
        let output = output
        let pusher = try connection.client(as: user, of: channels) { options in
            options.wireTap = frames.tap(output.json ? .jsonOnStandardError : .text)
            options.autoReconnect = false
            options.limitWaits(to: timeout)
            options.maximumAuthRetries = 0
        }
        defer { pusher.disconnect() }
        let examination = Examination(pusher: pusher, timeout: .seconds(timeout)) { _ = output.write($0) }
        try await examination.run(channels: channels, signsIn: user.signIn).exit()
    }
}
