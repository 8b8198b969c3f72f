import ArgumentParser
import CommandKit
import MatrixSDK

/// The room and users for `invite`, `kick`, `ban` and `unban`.
struct RoomUsersArguments: ParsableArguments {
    @OptionGroup var room: RoomArgument

    @Argument(help: ArgumentHelp("The users, such as @bob:example.org.", valueName: "user"))
    var users: [String]

    func validate() throws {
        try UserID.validate(users)
    }

    /// Runs an action once for each user, continuing after failures. Failures are written to standard error.
    ///
    /// - Parameter notDone: The message for a user for whom it failed, such as `is not invited`.
    /// - Throws: The exit status of the worst failure; at once if the login is no longer valid.
    func each(
        as account: MatrixAccount, notDone: String,
        _ change: (_ client: MXRestClient, _ user: String, _ roomID: String) async throws -> Void
    ) async throws {
        let roomID = try await room.id(for: account)
        var status = ExitStatus.done
        var tried: Set<String> = []
        for user in users where tried.insert(user).inserted {
            do {
                try await change(account.client, user, roomID)
            } catch let error as any ReportableError {
                if let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken { throw error }
                try Task.checkCancellation()  // interrupted: the outcome is unknown
                StandardError.write("error: \(user) \(notDone): \(Complaint.text(error))")
                status = status.worse(error.exitStatus)
            }
        }
        try status.exit()
    }
}
