import Basics
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

    /// Ends the session at the server, or revokes the key pair, and forgets it; the user stays set. It is forgotten, too, if
    /// the server cannot be told.
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

    /// Who is not authorised is logged out.
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
