import PydioProtocol

extension PydioClient {
    /// Changes the password of the logged-in user.
    ///
    /// Servers that accept hashed passwords are sent hashes. Afterwards the user set for the server has the new
    /// password. The session stays valid. Key pairs become invalid, so the next call requests a new one.
    ///
    /// - Parameters:
    ///   - old: The current password. If it is wrong, or the new one is too short for the server, this fails with
    ///     ``PydioError/Code-swift.enum/errorResponse`` and changes nothing.
    ///   - new: The new password.
    public func changePassword(from old: String, to new: String) async throws {
        guard !new.isEmpty else {
            throw PydioError(.invalidArgument, "the new password is empty; nothing was changed")
        }
        let operations = try operations()
        try await operations.call { try await operations.changePassword(from: old, to: new) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func changePassword(
        from old: String, to new: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.changePassword(from: old, to: new) }
    }
}

extension OperationsClient {
    fileprivate func changePassword(from old: String, to new: String) async throws {
        let seed = try await passwordSeed()
        let sent = (
            old: PasswordHash.value(password: old, seed: seed), new: PasswordHash.new(password: new, seed: seed)
        )
        var request = PydioRequest(
            .post, "pass_change", ["old_pass": .text(sent.old), "new_pass": .text(sent.new), "pass_seed": .text(seed)])
        request.isGlobal = true
        request.secrets = [old, new, sent.old, sent.new]
        do {
            _ = try await value(of: request, .passwordChange)
        } catch let error as PydioError where error.code == .network || error.code == .timedOut {
            throw PydioError(
                error.code, "\(error); the server may have changed the password before: log in with either of them")
        }
        authorization.session.change { $0.passwordChanged(to: new) }
    }

    /// Returns the seed for hashing the passwords in a request.
    ///
    /// The seed belongs to the session, and a login replaces both, so it logs in first. A client with a key pair got it
    /// for the password itself.
    func passwordSeed() async throws -> String {
        _ = try await value(of: .registry("user/repositories"), .workspaces)
        guard authorization.pass().0.keystoreToken == nil else { return PasswordHash.clearSeed }
        let response = try await sendInSession(PydioRequest(.get, "get_seed"))
        switch AnswerRecogniser.seed.read(response, secrets: authorization.secrets) {
        case .value(let answer):
            if answer.seed == PasswordHash.clearSeed { authorization.warnOfClearPassword() }
            return answer.seed
        case .notAuthorized:
            throw PydioError(
                .requireAuthorization, "the session ended before the password was sent; nothing was changed")
        case .serverError(let error), .unexpected(let error): throw error
        }
    }
}
