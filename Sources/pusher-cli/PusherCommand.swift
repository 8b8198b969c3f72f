import ArgumentParser
import PusherSwift

@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pusher-cli",
        abstract: "Realtime channels, Matrix rooms and Pydio workspaces from the command line.",
        discussion: """
            Data goes to standard output, everything else to standard error.

            Exit status: 0 done; 64 wrong use; 65 bad data; 69 could not connect, or refused for good; \
            75 timed out before --count was reached, or bench missed events; 77 authorization refused, or not logged in; \
            130 interrupted before it was done.

            Environment: PUSHER_APP_ID PUSHER_KEY PUSHER_SECRET PUSHER_CLUSTER PUSHER_HOST PUSHER_PORT \
            PUSHER_ENCRYPTION_MASTER_KEY; XDG_CONFIG_HOME for matrix and pydio.
            """,
        version: Pusher.version,
        subcommands: [
            DemoCommand.self, ServeCommand.self, SubscribeCommand.self, ListenCommand.self, TriggerCommand.self,
            ClientEventCommand.self, ChannelsCommand.self, ChannelCommand.self, UsersCommand.self,
            TerminateCommand.self, AuthCommand.self, AuthServerCommand.self, WebhookCommand.self,
            EncryptCommand.self, DecryptCommand.self, DoctorCommand.self, BenchCommand.self,
            MatrixCommand.self, PydioCommand.self,
        ])
}
