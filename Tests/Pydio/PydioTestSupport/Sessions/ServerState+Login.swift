import Basics

/// Seeds, captchas, logging in and out.
extension ServerState {
    private func needsCaptcha(_ request: FakePydioRequest) -> Bool {
        guard let enough = configuration.captchaAfter else { return failures.isCaptchaForced }
        return failures.isCaptchaForced || failures.count(request.address, now: now) >= enough
    }

    mutating func seedAnswer(_ request: FakePydioRequest, in id: String) -> FakePydioAnswer {
        let isClear = configuration.seedForm == .clear
        let seed = isClear ? "-1" : Digest.md5("\(now)")
        sessions[id]?.seed = seed
        if needsCaptcha(request) {
            let value: JSONValue = isClear ? .number(-1) : .string(seed)
            return .json(.object([("seed", value), ("captcha", .bool(true))]))
        }
        switch configuration.seedForm {
        case .text, .clear: return .text(seed)
        case .json: return .json(.object([("seed", .string(seed))]))
        }
    }

    mutating func captchaAnswer(in id: String) -> FakePydioAnswer {
        let code = configuration.captchaCode ?? Digest.random(5).lowercased()
        captchaCode = code
        sessions[id]?.captcha = code
        return FakePydioAnswer(type: "image/png", .bytes(Self.captchaImage))
    }

    /// One transparent pixel.
    static let captchaImage: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1,
        8, 6,
        0, 0, 0, 0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9C, 0x63, 0, 1, 0, 0, 5, 0, 1,
        0x0D,
        0x0A, 0x2D, 0xB4, 0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
    ]

    /// Logs in. On success the session continues under another ID.
    mutating func loginAnswer(
        _ request: FakePydioRequest, in id: String
    ) -> (answer: FakePydioAnswer, session: String) {
        if let value = configuration.loginValue { return (.login(value), id) }
        if needsCaptcha(request) {
            let expected = sessions[id]?.captcha
            guard let expected, request.parameter("captcha_code")?.lowercased() == expected.lowercased() else {
                return (.login(-4), id)
            }
        }
        if request.parameter("cookie_login") != nil { return rememberedLogin(request, in: id) }
        let name = (request.parameter("userid") ?? "").trimmingSpace.lowercased()
        guard let user = user(name), user.condition != .lockedOut, isRight(request, for: user, in: id) else {
            failures.failed(request.address, now: now)
            return (.login(needsCaptcha(request) ? -4 : -1), id)
        }
        return logIn(user, request, in: id, remembers: request.parameter("remember_me") == "true")
    }

    /// Logs in with a cookie, which is valid once: the answer contains another.
    private mutating func rememberedLogin(
        _ request: FakePydioRequest, in id: String
    ) -> (answer: FakePydioAnswer, session: String) {
        guard let cookie = request.cookies[Self.rememberedCookie], let name = remembered.removeValue(forKey: cookie),
            let user = user(name), user.condition != .lockedOut
        else { return (.login(-5), id) }
        return logIn(user, request, in: id, remembers: true)
    }

    private mutating func logIn(
        _ user: FakePydioUser, _ request: FakePydioRequest, in id: String, remembers: Bool
    ) -> (answer: FakePydioAnswer, session: String) {
        failures.succeeded(request.address)
        guard user.condition != .withoutWorkspace, let first = workspaces(of: user).first else {
            return (.login(-3), id)
        }
        let new = sessions.renew(id)
        sessions[new]?.user = user.id
        sessions[new]?.workspace = first.id
        sessions[new]?.seed = nil
        sessions[new]?.captcha = nil
        return (loggedIn(user, token: makeToken(in: new), remembers: remembers && configuration.remembersLogins), new)
    }

    private func isRight(_ request: FakePydioRequest, for user: FakePydioUser, in id: String) -> Bool {
        guard let seed = sessions[id]?.seed, request.parameter("login_seed") == seed else { return false }
        return user.isProved(by: request.parameter("password"), seed: seed)
    }

    static let rememberedCookie = "AjaXplorer-remember"

    private mutating func loggedIn(_ user: FakePydioUser, token: String, remembers: Bool) -> FakePydioAnswer {
        var attributes = [("value", "1"), ("secure_token", token)]
        if remembers { attributes += [("remember_login", "notify"), ("remember_pass", "notify")] }
        var answer = FakePydioAnswer.tree(XMLElement("logging_result", attributes))
        if remembers {
            let cookie = "\(user.id):\(Digest.random(32))"
            remembered[cookie] = user.id
            answer.fields.append(
                ("Set-Cookie", "\(Self.rememberedCookie)=\(cookie); Max-Age=864000; path=/; HttpOnly"))
        }
        return answer
    }

    /// Ends the session, and its cookie starts an empty one.
    mutating func logoutAnswer(
        _ request: FakePydioRequest, in id: String
    ) -> (answer: FakePydioAnswer, session: String) {
        sessions[id] = nil
        if let cookie = request.cookies[Self.rememberedCookie] { remembered[cookie] = nil }
        return (.login(2), sessions.open(nil).id)
    }

    /// The length limit applies to the received text, hashed or not.
    mutating func passwordAnswer(_ call: Call) -> FakePydioAnswer {
        guard configuration.letsChangePasswords else { return .empty }
        let isClear = configuration.seedForm == .clear
        let seed = call["pass_seed"] ?? ""
        guard let index = configuration.users.firstIndex(where: { $0.id == call.user.id }),
            let new = call["new_pass"], new.count >= configuration.minimumPasswordLength,
            isClear ? seed == "-1" : seed == call.session.flatMap({ sessions[$0]?.seed }),
            call.user.isProved(by: call["old_pass"], seed: seed)
        else { return .text("PASS_ERROR") }
        configuration.users[index].passwordDigest = digest(ofSent: new)
        configuration.users[index].condition = .normal
        keyPairs.revokeAll(of: call.user.id)
        return .text("SUCCESS")
    }

    /// The stored digest of a new password: servers with hashed passwords receive exactly that.
    func digest(ofSent password: String) -> String {
        configuration.seedForm == .clear ? Digest.md5(password) : password
    }
}

extension FakePydioAnswer {
    static func login(_ value: Int) -> FakePydioAnswer {
        .tree(XMLElement("logging_result", [("value", String(value))]))
    }
}

extension String {
    var trimmingSpace: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
