import Basics

/// The session API: cookies, secure tokens, and access checks.
extension ServerState {
    mutating func sessionAnswer(to request: FakePydioRequest) -> FakePydioAnswer {
        let (session, isNew) = sessions.open(request.session)
        var (answer, id) = answer(to: request, in: session)
        if isNew || id != session {
            answer.fields.append(("Set-Cookie", "\(SessionTable.cookieName)=\(id); path=/; HttpOnly"))
        }
        answer.fields.append(("Cache-Control", "no-store, no-cache, must-revalidate"))
        return answer
    }

    /// The answer and the session's new ID.
    private mutating func answer(
        to request: FakePydioRequest, in id: String
    ) -> (answer: FakePydioAnswer, session: String) {
        guard let session = sessions[id], let name = request.action, !name.isEmpty else { return (.userInterface, id) }
        let action = Action(rawValue: name)
        let needsToken = !(action?.needsNoToken(mode) ?? Action.otherNamesWithoutToken.contains(name))
        if needsToken, !session.tokens.isEmpty, !session.tokens.contains(request.token ?? "") {
            return (.notAllowed, id)
        }
        if let action, action.isForAnybody, let answer = openAnswer(action, request, in: id) { return answer }
        guard let user = session.user.flatMap(user) else { return (requireAuth(action, request), id) }
        return (answer(action, to: call(request, user, session: id)), id)
    }

    /// Answers actions that need no login; returns `nil` for others.
    private mutating func openAnswer(
        _ action: Action, _ request: FakePydioRequest, in id: String
    ) -> (answer: FakePydioAnswer, session: String)? {
        switch action {
        case .getSeed: (seedAnswer(request, in: id), id)
        case .getCaptcha: (captchaAnswer(in: id), id)
        case .login: loginAnswer(request, in: id)
        case .logout: logoutAnswer(request, in: id)
        case .getSecureToken: (.text(makeToken(in: id)), id)
        case .getBootConf: (bootConfiguration(in: id), id)
        case _: nil
        }
    }

    private func requireAuth(_ action: Action?, _ request: FakePydioRequest) -> FakePydioAnswer {
        if action == .getRegistry {
            return .registryPart(registryPath(request.query, request.parameters), nil)
        }
        let message = XMLElement("message", [("type", "ERROR")], text: "You are not logged in.")
        return mode == .v8 ? .tree(XMLElement("require_auth"), message) : .tree(XMLElement("require_auth"))
    }

    /// An unknown or inaccessible `tmp_repository_id` leaves the session's workspace unchanged.
    func call(_ request: FakePydioRequest, _ user: FakePydioUser, session id: String) -> Call {
        let own = workspaces(of: user)
        let asked = own.first { $0.id == request.parameter("tmp_repository_id") }
        let current = own.first { $0.id == sessions[id]?.workspace }
        return Call(
            request: request, parameters: request.parameters, user: user,
            workspace: asked ?? current ?? own.first ?? FakePydioWorkspace(id: "", slug: "", label: ""), session: id,
            now: now)
    }

    // MARK: Secure tokens

    /// 5.2 invalidates the previous one.
    mutating func makeToken(in id: String) -> String {
        let token = Digest.random(32)
        switch mode {
        case .v5_2: sessions[id]?.tokens = [token]
        case .v8: sessions[id]?.tokens.append(token)
        }
        return token
    }

    private mutating func bootConfiguration(in id: String) -> FakePydioAnswer {
        let texts = (0..<1000).map { ("\($0)", JSONValue.string("A text of the user interface, number \($0)")) }
        return .json(
            .object([
                ("ajxpResourcesFolder", .string("plugins/gui.ajax/res")), ("SECURE_TOKEN", .string(makeToken(in: id))),
                ("ajxpVersion", .string(mode == .v5_2 ? "5.2.5" : "8.2.5")), ("i18nMessages", .object(texts)),
            ]))
    }
}

extension FakePydioAnswer {
    static let notAllowed = error("You are not allowed to access this resource.")
    static let userInterface = html("<!DOCTYPE html><html><head><title>Pydio</title></head><body></body></html>")
}
