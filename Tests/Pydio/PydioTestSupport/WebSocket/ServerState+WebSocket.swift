/// Listeners on WebSockets.
extension ServerState {
    struct Peer: Sendable {
        let user: String
        /// `nil` before registration, and if it is refused.
        var tree: TreeKey?
    }

    /// The user of a handshake: by the session cookie, or on newer servers by a signature of another path.
    func webSocketUser(_ request: FakePydioRequest) -> String? {
        if let user = request.session.flatMap({ sessions[$0]?.user }) { return user }
        guard mode == .v8 else { return nil }
        return keyPairs.user(of: request.query, path: configuration.basePath + "/api/pydio/ws_authenticate")
    }

    mutating func addPeer(_ user: String) -> Int {
        peerCount += 1
        peers[peerCount] = Peer(user: user)
        return peerCount
    }

    /// Handles a text. Nothing is ever acknowledged.
    mutating func received(_ text: String, from peer: Int) {
        if webSocketTexts.count < configuration.historyLimit { webSocketTexts.append(text) }
        if text.hasPrefix("register:") {
            let id = String(text.dropFirst(9))
            let user = peers[peer].flatMap { self.user($0.user) }
            if let user, let workspace = workspaces(of: user).first(where: { $0.id == id }),
                user.rights(in: workspace.id)?.contains(.read) == true
            {
                peers[peer]?.tree = TreeKey(workspace: workspace, user: user.id)
            } else if mode == .v8 {
                peers[peer]?.tree = nil
            }
        } else if text == (mode == .v8 ? "unregister" : "unregister:") {
            peers[peer]?.tree = nil
        }
    }

    /// The frames of a message: the newer server ends a frame at each line break.
    func frames(of message: String) -> [String] {
        guard mode == .v8 else { return [message] }
        var text = message
        if configuration.splitsWebSocketMessages, let middle = text.ranges(of: "><").first {
            text.replaceSubrange(middle, with: ">  \n <")
        }
        return text.split(separator: "\n").map { String($0).trimmingSpace }.filter { !$0.isEmpty }
    }
}
