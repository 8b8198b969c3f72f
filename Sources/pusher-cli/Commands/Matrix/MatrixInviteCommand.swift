import ArgumentParser
import MatrixSDK

struct MatrixInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite users to a room.",
        discussion: """
            All are tried, also when one is refused.

            Example:
              pusher-cli matrix invite '#lobby:example.org' @bob:example.org @carol:example.org
            """)

    @Argument(help: "An id, an alias, or the name of a room that you are in.")
    var room: String

    @Argument(help: ArgumentHelp("Whom to invite.", valueName: "user"))
    var users: [String]

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        try UserID.validate(users)
    }

    func run() async throws {
        try await ExitStatus.reportingMatrix {
            let account = try matrix.account()
            let roomID = try await RoomReference(room).roomID(for: account)
            var status = ExitStatus.done
            for user in users {
                do {
                    try await account.client.inviteUser(user, toRoom: roomID)
                } catch let error as any ReportableError {
                    if let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken { throw error }
                    StandardError.write("error: \(user) is not invited: \(error)")
                    status = error.exitStatus
                }
            }
            try status.exit()
        }
    }
}
