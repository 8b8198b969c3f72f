import ArgumentParser
import CommandKit
import MatrixCommands
import PusherCommands
import PusherSwift
import PydioCommands
import RelayCommands

@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pusher-cli",
        abstract: "Realtime channels, Matrix rooms and Pydio workspaces from the command line.",
        discussion: """
            Data goes to standard output, everything else to standard error.

            To find the application and its server, a command looks at its options first, then at the context named \
            with --context, the environment, the context in use (see pusher-cli context), and last at a pusher-cli \
            serve running on this machine.

            Exit status: 0 success; 64 usage error; 65 bad data or an unreadable file; 69 no connection or no usable \
            answer, or a server cannot listen; 74 output cannot be written; 75 timed out before --count was reached, or bench missed events; 77 \
            key, secret, login or channel refused; 130 interrupted before it was done.

            Environment: PUSHER_CONTEXT, or PUSHER_URL=http://key:secret@host:port/apps/id, or PUSHER_APP_ID PUSHER_KEY \
            PUSHER_SECRET PUSHER_CLUSTER PUSHER_HOST PUSHER_PORT PUSHER_TLS PUSHER_ENCRYPTION_MASTER_KEY; \
            XDG_CONFIG_HOME for contexts, matrix and pydio; XDG_STATE_HOME for shell; NO_COLOR and \
            CLICOLOR_FORCE, which --color overrides.
            """,
        version: Pusher.version,
        subcommands: pusherCommands + matrixCommands + pydioCommands + relayCommands)

    static func main() async { await Execution.run(Self.self) }
}
