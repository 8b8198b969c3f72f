import ArgumentParser
import MatrixSDK

struct MatrixInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite users to a room.",
        discussion: """
            Tries every user, even if one is refused.

            Example:
              pusher-cli matrix invite '#lobby:example.org' @bob:example.org @carol:example.org
            """)

    @Argument(help: "The room: an id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: ArgumentHelp("The user to invite.", valueName: "user"))
    var users: [String]

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        try UserID.validate(users)
    }

    func run() async throws {
        let account = try matrix.account()
        let roomID = try await RoomReference(room).roomID(for: account)
        try await account.each(of: users, notDone: "is not invited") { user in
            try await account.client.inviteUser(user, toRoom: roomID)
        }
    }
}
