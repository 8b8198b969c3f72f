import Basics
import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// Logs in now, regardless of the current session. Calls log in automatically.
    public func authorize() async throws {
        let operations = try operations()
        try await operations.call(.authorization) { try await operations.authorization.authorize() }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func authorize(
        success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.authorize() }
    }

    /// Logs in with the code in a captcha's image. After a wrong code the image changes.
    public func login(captcha: String) async throws {
        let operations = try operations()
        try await operations.call(.authorization) { try await operations.authorization.login(captcha: captcha) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func login(
        captcha: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.login(captcha: captcha) }
    }

    /// Returns the image of a captcha, usually PNG. Each image invalidates the code of the previous one.
    public func getCaptcha() async throws -> Data {
        let operations = try operations()
        return try await operations.call { try await operations.captcha() }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func getCaptcha(
        success: @escaping (Data) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.getCaptcha() }
    }

    /// Ends the session at the server, or revokes the key pair, and deletes it here, even if the server cannot be
    /// reached. The user stays set.
    public func logout() async throws {
        let operations = try operations()
        try await operations.call { try await operations.logout() }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func logout(success: @escaping () -> Void, failure: @escaping (PydioError) -> Void) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.logout() }
    }
}

extension OperationsClient {
    /// Fetches a captcha in the session of the coming login, regardless of how calls are authorized.
    func captcha() async throws -> Data {
        let response = try await sendInSession(PydioRequest(.get, "get_captcha"))
        switch AnswerRecogniser.captcha.read(response, secrets: authorization.secrets) {
        case .value(let image): return image
        case .notAuthorized:
            throw PydioError(.requireAuthorization, "the server gives a captcha's image to nobody without a login")
        case .serverError(let error), .unexpected(let error): throw error
        }
    }

    func logout() async throws {
        let (hasSession, pair) = authorization.session.read { machine in
            (machine.secureToken != nil || !machine.cookies.cookies(now: .now).isEmpty, machine.keystoreToken)
        }
        defer { authorization.session.change { $0.forgetSession() } }
        if let pair {
            var request = PydioRequest(.get, "keystore_revoke_tokens", ["key_id": .text(pair.token)])
            request.isGlobal = true
            let pass = RequestPass.signed(pair, nonce: ServerConnection.randomText())
            let response = try await authorization.connection.send(request, as: pass)
            try acceptEnd(
                AnswerRecogniser.revocation.read(response, secrets: secrets))
        }
        if hasSession {
            let response = try await sendInSession(PydioRequest(.get, "logout"))
            try acceptEnd(AnswerRecogniser.login.read(response, secrets: secrets))
        }
    }

    private var secrets: [String] { authorization.secrets }

    /// Accepts "not authorized" as logged out.
    private func acceptEnd<Value>(_ answer: PydioAnswer<Value>) throws {
        switch answer {
        case .value, .notAuthorized: return
        case .serverError(let error), .unexpected(let error): throw error
        }
    }

    func sendInSession(_ request: PydioRequest) async throws -> HTTPResponse {
        let (pass, requestPass) = authorization.session.read { machine in
            let pass = machine.pass(as: .session)
            return (pass, machine.requestPass(pass, nonce: "", now: .now))
        }
        let response = try await authorization.connection.send(request, as: requestPass)
        authorization.take(response, of: pass)
        return response
    }
}
