import ArgumentParser
import Basics
import CommandKit
import Foundation
import Logging
import PusherHTTP
import PusherSwift

struct ShellCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Subscribe, send events and look around interactively, on one connection.",
        discussion: """
            Type help for the commands, Tab to complete, Ctrl-R to search the history. Events are printed while you \
            type. Lines are saved in $XDG_STATE_HOME/pusher-cli/history (default: ~/.local/state), except those that \
            start with a space.

            If standard input is not a terminal, the shell runs it as a script: one command per line, each finished \
            before the next begins; lines that start with # are comments. Errors go to standard error with their line \
            numbers, and the exit status is that of the worst command.

            Examples:
              pusher-cli shell --cluster eu
              echo 'subscribe prices' | pusher-cli shell --json
            """)

    @OptionGroup var output: OutputOptions

    @Option(help: "In a script: seconds to wait for the connection and for each command.")
    var timeout = 30.0

    @OptionGroup var user: UserOptions
    @OptionGroup var application: ApplicationOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try Seconds.check("--timeout", timeout)
    }

    func run() async throws {
        var settings = try connection.settings()
        settings.appID = application.appId ?? settings.appID
        try settings.require(.key)
        let isTyped = ShellConsole.isThere
        // The client logs from the start, before there is a console.
        let logs = Lock<ShellOutput?>(nil)
        var options = try connection.clientOptions(settings)
        if isTyped, options.logger != nil {
            options.logger = Logger(label: "pusher-cli") { _ in
                ConsoleLogHandler { line in logs.withLock { $0 }?.log(line) }
            }
        }
        if !isTyped { options.limitWaits(to: timeout) }
        let signInTrouble = try prepareSignIn(&options)
        options.callbackQueue = .queue(EventStream.queue)
        let pusher = Pusher(key: settings.key ?? "", options: options)
        if let member = user.presenceMember { pusher.connection.userDataFetcher = { member } }
        let session = ShellSession(
            pusher: pusher, settings: settings, api: api(settings), signInTrouble: signInTrouble)
        if isTyped {
            try await converse(session, logs: logs)
        } else {
            try await carryOutScript(session).exit()
        }
    }

    private func converse(_ session: ShellSession, logs: Lock<ShellOutput?>) async throws {
        let history = KeptHistory()
        let console = ShellConsole(
            history: history.lines, vocabulary: { session.vocabulary }, keeps: { history.keep($0) })
        let output = ShellOutput(format: output, console: console, ended: { console.leave() })
        history.onTrouble { output.log("warning: \($0)") }
        logs.withLock { $0 = output }
        session.open(output, signsIn: user.signIn)
        do {
            try await TypedShell(session: session, output: output, console: console).run()
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }

    private func carryOutScript(_ session: ShellSession) async throws -> ExitStatus {
        let (endings, ending) = AsyncStream.makeStream(of: Void.self)
        let output = ShellOutput(format: output, console: nil, ended: { ending.finish() })
        session.open(output, signsIn: user.signIn)
        let script = ShellScript(session: session, output: output, timeout: .seconds(timeout))
        let status = try await SignalWatch.interrupting {
            await withTaskGroup(of: ExitStatus.self) { group in
                group.addTask { await script.run() }
                group.addTask {
                    for await _ in endings {}  // until the reader of the output is done
                    return .done
                }
                let first = await group.next() ?? .done
                group.cancelAll()
                return first
            }
        }
        await session.close()
        return status ?? .interrupted
    }

    /// Enables the command `sign-in` if its credentials are available, and fails if `--sign-in` is given without them.
    private func prepareSignIn(_ options: inout PusherClientOptions) throws -> CommandFailure? {
        var user = user
        if user.signIn {
            try user.apply(to: &options)
            return nil
        }
        user.signIn = true
        do {
            try user.apply(to: &options)
            return nil
        } catch is ValidationError {
            return CommandFailure(
                .badData,
                "no user to sign in as: restart the shell with --user-auth-endpoint, or with "
                    + "--user-id and the secret")
        }
    }

    /// Returns the HTTP API, or an error with the missing settings.
    private func api(_ settings: Settings) -> Result<PusherHTTPClient, CommandFailure> {
        do throws(CommandFailure) {
            return .success(try settings.httpClient())
        } catch {
            return .failure(CommandFailure(.wrongUse, "only the HTTP API can send this event: \(error)"))
        }
    }
}
