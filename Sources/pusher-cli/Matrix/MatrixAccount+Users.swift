import MatrixSDK

extension MatrixAccount {
    /// Does something to each user, once, even if it fails for one of them. Failures are written to standard error.
    ///
    /// - Parameter notDone: What to say of a user for whom it failed, such as `is not invited`.
    /// - Throws: The exit status of the worst failure; at once if the login is dead.
    func each(
        of users: [String], notDone: String, _ change: (_ user: String) async throws -> Void
    ) async throws {
        var status = ExitStatus.done
        var tried: Set<String> = []
        for user in users where tried.insert(user).inserted {
            do {
                try await change(user)
            } catch let error as any ReportableError {
                if let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken { throw error }
                StandardError.write("error: \(user) \(notDone): \(Complaint.text(error))")
                status = status.worse(error.exitStatus)
            }
        }
        try status.exit()
    }
}
