import ArgumentParser
import CommandKit

struct MatrixVerifyCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verify another device of yours, or another user, by comparing emoji.",
        discussion: """
            Asks your other devices, or with --user the other user's, and shows what both must see: emoji with their names, \
            and numbers. Say yes only if the other side shows the same. An incoming request of that user is accepted. \
            With --qr, a code is shown that the other device can scan.

            To verify another user, this device needs your cross-signing keys: recovery use or verify brings them.

            Examples:
              pusher-cli matrix verify
              pusher-cli matrix verify --user @bob:example.org
            """)

    @Option(help: ArgumentHelp("The user to verify. Default: yourself, with another device.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("Ask only this device.", valueName: "id"))
    var device: String?

    @Flag(help: "Show a code for the other device to scan.")
    var qr = false

    @Option(help: "Give up after this many seconds.")
    var timeout = 300.0

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        if let user { try UserID.validate([user]) }
        try Seconds.check("--timeout", timeout)
    }

    func run() async throws {
        guard TerminalQuestion.hasTerminal else {
            throw CommandFailure(
                .unavailable, "there is no terminal to show what both sides must see: run this at one; nothing was sent"
            )
        }
        let account = try network.matrixAccount()
        let verification = TerminalVerification(
            user: user ?? account.userID, device: device, showsCode: qr, timeout: .seconds(timeout),
            me: (account.userID, account.store.deviceID ?? ""))
        let isDone: Void? = try await SignalWatch.interrupting {
            try await account.withRunningKeys { session in try await verification.run(in: session) }
        }
        guard isDone != nil else { throw TerminalVerification.interrupted }
    }
}
