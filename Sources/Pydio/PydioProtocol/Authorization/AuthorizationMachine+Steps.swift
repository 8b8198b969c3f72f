package import Basics
package import Transport

/// The requests of an attempt, and the steps that follow from their answers.
extension AuthorizationMachine {
    /// Returns the request of an order, and its authorization; `nil` if the attempt is over.
    package func request(for order: Order, now: MonotonicInstant) -> (PydioRequest, RequestPass)? {
        guard let attempt, attempt.id == order.attempt else { return nil }
        let session = RequestPass.session(cookies: cookies.field(now: now), secureToken: secureToken)
        switch order.step {
        case .ping: return (PydioRequest(.get, "ping"), session)
        case .getSeed: return (PydioRequest(.get, "get_seed"), session)
        case .getSecureToken: return (PydioRequest(.get, "get_secure_token"), session)
        case .login:
            guard let user, let seed else { return nil }
            var parameters: [String: PydioParameter] = [
                "userid": .text(user.userid), "login_seed": .text(seed),
                "password": .text(PasswordHash.value(password: user.password, seed: seed)),
            ]
            parameters["captcha_code"] = attempt.captcha.map { .text($0) }
            if attempt.kind == .rememberedSession { parameters["remember_me"] = "true" }
            return (PydioRequest(.post, "login", parameters), session)
        case .rememberedLogin:
            return (PydioRequest(.post, "login", ["cookie_login": "true", "login_seed": "-1"]), session)
        case .keystore:
            guard let user else { return nil }
            let request = PydioRequest(
                .get, "keystore_generate_auth_token", ["device": .text(deviceId)], path: ["device"])
            return (request, .basic(user))
        }
    }

    /// Returns whether a request exposes the password to eavesdroppers.
    package func showsPassword(_ order: Order) -> Bool {
        order.step == .keystore || order.step == .login && seed == PasswordHash.clearSeed
    }

    /// Allows one retry of a refused login: other processes may be logging in at the same time and cause the refusal.
    package mutating func allowRepetition(of order: Order) {
        if attempt?.id == order.attempt { attempt?.mayRepeat = true }
    }

    /// Ends an attempt with a session that another process has obtained meanwhile.
    package mutating func adopt(_ session: KeptSession, for order: Order) -> Progress {
        guard attempt?.id == order.attempt else { return .none }
        cookies.removeAll()
        for cookie in session.cookies { cookies.add(cookie) }
        (secureToken, keystoreToken) = (session.secureToken, session.keystoreToken)
        return done()
    }

    /// Handles a request that could not be made.
    package mutating func failed(_ order: Order, _ error: PydioError) -> Progress {
        attempt?.id == order.attempt ? fail(error) : .none
    }

    /// Handles the answer to an order.
    ///
    /// - Parameter seconds: The time of day, since 1970.
    package mutating func answered(
        _ order: Order, _ response: HTTPResponse, from server: ServerAddress, now: MonotonicInstant, seconds: Int
    ) -> Progress {
        guard let attempt, attempt.id == order.attempt, attempt.step == order.step else { return .none }
        if order.step != .keystore { cookies.take(response.fields, from: server, now: now, seconds: seconds) }
        let body = AnswerBody(response)
        switch order.step {
        case .ping: return pinged(body)
        case .getSeed: return seedCame(AnswerRecogniser.seed.read(body, secrets: secrets), body)
        case .login: return loginAnswered(AnswerRecogniser.login.read(body, secrets: secrets))
        case .rememberedLogin: return rememberedAnswered(AnswerRecogniser.login.read(body, secrets: secrets))
        case .getSecureToken: return tokenCame(AnswerRecogniser.secureToken.read(body, secrets: secrets))
        case .keystore: return pairCame(AnswerRecogniser.keystoreToken.read(body, secrets: secrets), body)
        }
    }

    private mutating func next(_ step: Step) -> Progress {
        guard var attempt else { return .none }
        attempt.step = step
        self.attempt = attempt
        beginSession(with: step)
        return .send(Order(attempt: attempt.id, step: step))
    }

    private mutating func done() -> Progress {
        attempt = nil
        lastFailure = nil
        generation += 1
        return .done
    }

    private mutating func fail(_ error: PydioError) -> Progress {
        attempt = nil
        failures += 1
        lastFailure = error
        return .failed(error)
    }

    /// Handles the answer to a ping, which is only for the cookie: logged out or in, and regardless of the token.
    private mutating func pinged(_ body: AnswerBody) -> Progress {
        switch body.status {
        case 200..<300, 401: next(.getSeed)
        case 404, 405, 410: fail(.unsupported("the server has no script index.php there", status: body.status))
        default: fail(.status(of: body, to: "the request for a session", secrets))
        }
    }

    private mutating func seedCame(_ answer: PydioAnswer<SeedResponse>, _ body: AnswerBody) -> Progress {
        switch answer {
        case .value(let response):
            seed = response.seed
            if response.needsCaptcha && attempt?.captcha == nil {
                return fail(
                    PydioError(
                        .getSeedWithCaptcha,
                        "the server wants a captcha solved before the login: get its image, then log in with the code"))
            }
            guard wantsPair(seed: response.seed) else { return next(.login) }
            attempt?.hasAskedForPair = true
            return next(.keystore)
        case .serverError(let error): return refusedForToken(error)
        case .notAuthorized:
            return fail(.unsupported("it wants an authorisation before it says how to log in", status: body.status))
        case .unexpected(var error):
            if error.code == .receivedNotExpectedAnswer {
                let cause = error
                error = .unsupported("it does not say how to log in", status: body.status)
                error.excerpt = cause.excerpt
            }
            return fail(error)
        }
    }

    /// Returns whether to request a key pair: only from a server that receives the password anyway.
    private func wantsPair(seed: String) -> Bool {
        attempt?.kind == .automatic && seed == PasswordHash.clearSeed && !hasNoPairs
            && attempt?.hasAskedForPair != true && attempt?.captcha == nil
    }

    private mutating func pairCame(_ answer: PydioAnswer<KeystoreToken?>, _ body: AnswerBody) -> Progress {
        if case .value(let token?) = answer {
            keystoreToken = token
            return done()
        }
        keystoreToken = nil
        if attempt?.kind == .keystoreToken {
            if case .notAuthorized = answer { return fail(.refusedLogin(.refused)) }
            return fail(.unsupported("it gives no key pairs", status: body.status))
        }
        // A refusal may only concern how the password was sent, since web servers drop it. The login will show.
        if case .notAuthorized = answer {} else { hasNoPairs = body.status < 500 }
        return seed == nil ? next(.ping) : next(.login)
    }

    private mutating func loginAnswered(_ answer: PydioAnswer<LoginResponse>) -> Progress {
        switch answer {
        case .value(let response):
            switch response.result {
            case .success:
                secureToken = response.secureToken
                return done()
            case .captcha:
                return fail(
                    PydioError(
                        .loginWithCaptcha,
                        "the server wants a captcha solved, or it was solved wrongly: get a new image, then log in with "
                            + "the code"))
            case .refused where attempt?.mayRepeat == true:
                attempt?.mayRepeat = false
                return next(.ping)
            case .refused, .loggedOut, .noWorkspace, .rememberedLoginInvalid, .other:
                return fail(.refusedLogin(response.result))
            }
        case .serverError(let error): return refusedForToken(error)
        case .notAuthorized: return fail(.refusedLogin(.refused))
        case .unexpected(let error): return fail(error)
        }
    }

    /// Handles the answer to a login by cookie. Also deletes here what the server no longer remembers.
    private mutating func rememberedAnswered(_ answer: PydioAnswer<LoginResponse>) -> Progress {
        switch answer {
        case .value(let response) where response.result == .success:
            secureToken = response.secureToken
            return done()
        case .value, .notAuthorized:
            cookies.removeAll()
            return fail(.refusedLogin(.rememberedLoginInvalid))
        case .serverError(let error), .unexpected(let error): return fail(error)
        }
    }

    /// Handles an error that only the token can cause: the session has another one (4.5).
    private mutating func refusedForToken(_ error: PydioError) -> Progress {
        guard attempt?.hasAskedForToken == true else {
            attempt?.hasAskedForToken = true
            return next(.getSecureToken)
        }
        return beginAnew(error)
    }

    private mutating func beginAnew(_ error: PydioError) -> Progress {
        guard attempt?.isAnew != true, user != nil else { return fail(error) }
        cookies.removeAll()
        (secureToken, seed) = (nil, nil)
        attempt?.isAnew = true
        attempt?.isForToken = false
        return next(.ping)
    }

    private mutating func tokenCame(_ answer: PydioAnswer<String>) -> Progress {
        switch answer {
        case .value(let token):
            secureToken = token
            return attempt?.isForToken == true
                ? done() : next(seed == nil || attempt?.captcha == nil ? .getSeed : .login)
        case .notAuthorized:
            guard user != nil || isRemembered else { return fail(Self.nobody) }
            attempt?.isForToken = false
            return next(user == nil ? .rememberedLogin : .ping)
        case .serverError(let error), .unexpected(let error): return beginAnew(error)
        }
    }
}

extension PydioError {
    static func unsupported(_ reason: String, status: Int) -> PydioError {
        var error = PydioError(
            .unsupportedServer,
            "this is not a Pydio server of version 5.2 to 8 (Pydio Cells is a different product, and not supported): "
                + reason)
        error.status = status
        return error
    }

    static func refusedLogin(_ result: PydioLoginResult) -> PydioError {
        let reason =
            switch result {
            case .refused: "wrong name or password, or the account is locked"
            case .noWorkspace: "the account may open no workspace; it may be locked"
            case .loggedOut: "the server has logged out instead"
            case .rememberedLoginInvalid: "the former login is not valid any more"
            case .other(let value): "the result \(value) is not known"
            case .success, .captcha: "unexpected"
            }
        var error = PydioError(.unableToLogin, "the server refused the login: \(reason)")
        error.loginResult = result
        return error
    }
}
