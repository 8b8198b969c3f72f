import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// Logs in now, whatever session there is. Calls do so by themselves.
    public func authorize() async throws {
        let operations = try operations()
        try await operations.call(.authorization) { try await operations.authorization.authorize() }
    }

    /// The same with blocks.
    @discardableResult
    public func authorize(
        success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.authorize() }
    }

    /// Logs in with the code that a captcha's image shows. After a wrong one the image is another.
    public func login(captcha: String) async throws {
        let operations = try operations()
        try await operations.call(.authorization) { try await operations.authorization.login(captcha: captcha) }
    }

    /// The same with blocks.
    @discardableResult
    public func login(
        captcha: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.login(captcha: captcha) }
    }

    /// The image of a captcha, PNG as a rule. Each one makes the code of the one before worthless.
    public func getCaptcha() async throws -> Data {
        let operations = try operations()
        return try await operations.call { try await operations.captcha() }
    }

    /// The same with blocks.
    @discardableResult
    public func getCaptcha(
        success: @escaping (Data) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.getCaptcha() }
    }

    /// Ends the session at the server and forgets it, with its key pair; the user stays set. It is forgotten, too, if the
    /// server cannot be told. A key pair stays valid at the server until its user's password changes.
    public func logout() async throws {
        let operations = try operations()
        try await operations.call { try await operations.logout() }
    }

    /// The same with blocks.
    @discardableResult
    public func logout(success: @escaping () -> Void, failure: @escaping (PydioError) -> Void) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.logout() }
    }
}

extension OperationsClient {
    /// In the session that the login will be in, whatever calls are authorised by.
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
        defer { authorization.session.change { $0.forgetSession() } }
        guard authorization.session.read({ $0.secureToken != nil || !$0.cookies.cookies(now: .now).isEmpty }) else {
            return
        }
        let response = try await sendInSession(PydioRequest(.get, "logout"))
        switch AnswerRecogniser.login.read(response, secrets: authorization.secrets) {
        case .value, .notAuthorized: return
        case .serverError(let error), .unexpected(let error): throw error
        }
    }

    private func sendInSession(_ request: PydioRequest) async throws -> HTTPResponse {
        let (pass, requestPass) = authorization.session.read { machine in
            let pass = machine.pass(as: .session)
            return (pass, machine.requestPass(pass, nonce: "", now: .now))
        }
        let response = try await authorization.connection.send(request, as: requestPass)
        authorization.take(response, of: pass)
        return response
    }
}
