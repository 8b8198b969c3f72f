import ArgumentParser
import MatrixSDK

struct MatrixBanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ban", abstract: "Remove users from a room, and keep them out.",
        discussion: """
            Users can be banned before they ever join. Tries every user, even if one is refused.

            Example:
              pusher-cli matrix ban '#lobby:example.org' @spam:example.net --reason spam
            """)

    @Argument(help: "The room: an id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: ArgumentHelp("The user to ban.", valueName: "user"))
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
        try await account.each(of: users, notDone: "is not banned") { user in
            try await account.client.banUser(user, fromRoom: roomID, reason: reason)
        }
    }
}
