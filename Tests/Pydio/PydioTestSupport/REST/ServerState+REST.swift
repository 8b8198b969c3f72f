import Foundation

/// REST: each request has a password or a signature in place of a session.
extension ServerState {
    mutating func restAnswer(to request: FakePydioRequest) -> FakePydioAnswer {
        guard configuration.hasREST, var pieces = request.restPieces else { return .notFound }
        guard let user = restUser(request) else { return .unauthorized }
        if pieces.first == "v2", configuration.hasRESTVersion2 {
            // An address like those of version 1 except for its beginning.
            guard pieces.count == 5, pieces[1] == "workspaces" else {
                return rest2Answer(pieces.dropFirst(), request, user)
            }
            pieces.removeFirst(2)
        }
        guard pieces.count > 1, let workspace = restWorkspace(pieces[0], user) else {
            return .error("Cannot find this workspace")
        }
        let name = pieces[1]
        // The question mark and the rest become part of the action's name, which then matches no action.
        if pieces.count == 2, request.hasQuery, !request.rawPath.hasSuffix("/") { return .empty }
        let action = Action(rawValue: name)
        if action == .delete, workspace.id != FakePydioWorkspace.console.id, !request.form.hasFiles {
            return .error("The selection is empty!")
        }
        var parameters = request.parameters
        for (name, value) in Self.restParameters(action, Array(pieces.dropFirst(2))) { parameters.append(name, value) }
        return answer(
            action,
            to: Call(
                request: request, parameters: parameters, user: user, workspace: workspace, session: nil, now: now))
    }

    private func restUser(_ request: FakePydioRequest) -> FakePydioUser? {
        if let basic = request.field("Authorization"), basic.hasPrefix("Basic "),
            let bytes = Data(base64Encoded: String(basic.dropFirst(6)))
        {
            let pair = String(decoding: bytes, as: UTF8.self).split(separator: ":", maxSplits: 1)
            guard pair.count == 2, let user = user(pair[0].lowercased()), user.condition != .lockedOut else {
                return nil
            }
            return user.isProved(by: String(pair[1]), seed: "-1") ? user : nil
        }
        return keyPairs.user(of: request.parameters, path: request.rawPath).flatMap(user)
    }

    /// Finds a workspace by its ID or its short name; `pydio` is for actions without one.
    func restWorkspace(_ name: String, _ user: FakePydioUser) -> FakePydioWorkspace? {
        let own = workspaces(of: user)
        return name == "pydio" ? own.first : own.first { $0.id == name || $0.slug == name }
    }

    /// The parameters in the path after the action.
    private static func restParameters(_ action: Action?, _ pieces: [String]) -> [(String, String)] {
        let path = pieces.map { "/" + $0 }.joined()
        guard !pieces.isEmpty else { return [] }
        return switch action {
        case .list: [("dir", path)]
        case .makeFile: [("node", path)]
        case .upload: [("dir", pieces.dropFirst().map { "/" + $0 }.joined())]
        case .changes: [("seq_id", pieces[0])]
        case .registerChannel, .consumeChannel, .unregisterChannel:
            [("channel", pieces[0])] + pieces.dropFirst().prefix(1).map { ("client_id", $0) }
        case .state: [("state_path", pieces.joined(separator: "/"))]
        case .makeKeyPair: [("device", pieces[0])]
        case .revokeKeyPairs: []  // without the parameter, all of them
        case _: [("file", path)]
        }
    }

    // MARK: Key pairs

    mutating func keystoreAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        guard configuration.hasREST, configuration.hasKeystore else { return .empty }
        switch action {
        case .makeKeyPair:
            let pair = keyPairs.make(user: call.user.id, device: call["device"] ?? "")
            return .json(.object([("t", .string(pair.token)), ("p", .string(pair.secret))]))
        case .listKeyPairs:
            let own = keyPairs.pairs.filter { $0.value.user == call.user.id }.sorted { $0.key < $1.key }
            return .json(.object(own.map { ($0.key, .object([("DEVICE_ID", .string($0.value.device))])) }))
        case _:
            if let token = call["key_id"] {
                keyPairs.revoke(token, of: call.user.id)
            } else {
                keyPairs.revokeAll(of: call.user.id)
            }
            return .json(.object([("result", .string("SUCCESS"))]))
        }
    }
}

extension FakePydioAnswer {
    static let unauthorized = text("You are not authorized to access this API.", status: 401)
        .with("WWW-Authenticate", "Basic realm=\"Pydio API\"")
}
