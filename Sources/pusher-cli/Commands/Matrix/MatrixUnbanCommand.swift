import ArgumentParser
import MatrixSDK

struct MatrixUnbanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unban", abstract: "Let banned users join a room again.",
        discussion: """
            It does not invite them. Tries every user, even if one is refused.

            Example:
              pusher-cli matrix unban '#lobby:example.org' @bob:example.org
            """)

    @Argument(help: "The room: an id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: ArgumentHelp("The user whose ban to lift.", valueName: "user"))
    var users: [String]

    @Option(help: "The reason; everyone in the room can see it.")
    var reason: String?

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        try UserID.validate(users)
    }

    func run() async throws {
        let account = try matrix.account()
        let roomID = try await RoomReference(room).roomID(for: account)
        try await account.each(of: users, notDone: "is not unbanned") { user in
            try await account.client.unbanUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
