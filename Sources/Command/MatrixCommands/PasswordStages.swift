import CommandKit
import MatrixSDK

extension MXInteractiveStep {
    /// Continues with the user's password, read once, if the homeserver requires it.
    ///
    /// - Parameter consequence: The work left undone if it cannot continue.
    func completed(
        withPasswordOf user: String, orElse consequence: String,
        _ ask: () throws(CommandFailure) -> String
    ) async throws -> Value {
        var password: String?
        return try await completed { authentication in
            let wanted = authentication.flows.compactMap { flow in
                flow.stages.first { !authentication.completed.contains($0) }
            }
            if wanted.contains("m.login.dummy") { return .dummy }
            guard wanted.contains("m.login.password") else {
                let stages = wanted.isEmpty ? "more" : wanted.joined(separator: ", or ")
                throw CommandFailure(
                    .refused,
                    "the homeserver asks for \(stages), but this command can only send a password; \(consequence)")
            }
            let typed = try password ?? ask()
            password = typed
            return .password(typed, userId: user)
        }
    }
}
