import ArgumentParser

struct MatrixCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "matrix", abstract: "Rooms of a Matrix homeserver: read, send, listen.",
        discussion: """
            login saves a token in ~/.config/pusher-cli/matrix.json, which only you can read. ROOM is an id \
            (!room:example.org), an alias (#room:example.org), or a room's name, as rooms lists it.

            Rooms and their newest messages are stored in ~/.local/share/pusher-cli/matrix, so that only the first \
            command asks for all of them; logout deletes them.

            Examples:
              pusher-cli matrix login @alice:example.org
              pusher-cli matrix send '#lobby:example.org' 'hello **all**'
              pusher-cli matrix listen --notifications
            """,
        subcommands: [
            MatrixLoginCommand.self, MatrixLogoutCommand.self, MatrixRoomsCommand.self, MatrixListenCommand.self,
            MatrixChatCommand.self, MatrixSendCommand.self, MatrixMessagesCommand.self, MatrixCreateCommand.self,
            MatrixJoinCommand.self,
            MatrixLeaveCommand.self, MatrixInviteCommand.self, MatrixKickCommand.self, MatrixBanCommand.self,
            MatrixUnbanCommand.self, MatrixTopicCommand.self, MatrixMembersCommand.self, MatrixReactCommand.self,
            MatrixSearchCommand.self, MatrixReadCommand.self, MatrixReceiptsCommand.self, MatrixUploadCommand.self,
            MatrixDownloadCommand.self, MatrixDevicesCommand.self, MatrixVerifyCommand.self, MatrixKeysCommand.self,
            MatrixRecoveryCommand.self, MatrixPushRulesCommand.self, MatrixPushGatewayCommand.self,
        ])
}
