import ArgumentParser

struct MatrixCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "matrix", abstract: "Rooms of a Matrix homeserver: read, send, listen.",
        discussion: """
            login keeps a token in ~/.config/pusher-cli/matrix.json, which nobody else can read. ROOM is an id \
            (!room:example.org), an alias (#room:example.org), or the name of a room as rooms shows it.

            Examples:
              pusher-cli matrix login @alice:example.org
              pusher-cli matrix send '#lobby:example.org' 'hello **all**'
              pusher-cli matrix listen --notifications
            """,
        subcommands: [
            MatrixLoginCommand.self, MatrixLogoutCommand.self, MatrixRoomsCommand.self, MatrixListenCommand.self,
            MatrixSendCommand.self, MatrixMessagesCommand.self, MatrixCreateCommand.self, MatrixJoinCommand.self,
            MatrixLeaveCommand.self, MatrixInviteCommand.self, MatrixReactCommand.self, MatrixUploadCommand.self,
            MatrixDownloadCommand.self, MatrixPushGatewayCommand.self,
        ])
}
