import ArgumentParser
import MatrixSDK

struct MatrixKickCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick", abstract: "Remove users from a room.",
        discussion: """
            They can come back if the room lets them. A user who has not joined yet loses the invitation. Tries every \
            user, even if one is refused.

            Example:
              pusher-cli matrix kick '#lobby:example.org' @bob:example.org --reason spam
            """)

    @Argument(help: "The room: an id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: ArgumentHelp("The user to remove.", valueName: "user"))
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
        try await account.each(of: users, notDone: "is not removed") { user in
            try await account.client.kickUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
