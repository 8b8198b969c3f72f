import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// Returns the changes in a workspace after a position in the server's change log. On a server without a change
    /// log, this fails with ``PydioError/Code-swift.enum/receivedNotExpectedAnswer`` or an error from the server.
    ///
    /// - Parameters:
    ///   - sequence: The previous ``PydioChangesResponse/lastSequence``; 0 is the beginning.
    ///   - folder: Only return changes in this folder, with paths relative to it. `nil` returns all changes.
    ///   - isFlattened: Whether to return only the net effect on each node.
    public func changes(
        workspaceId: String, since sequence: Int64, folder: String? = nil, isFlattened: Bool = true
    ) async throws -> PydioChangesResponse {
        var parameters: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "seq_id": .text(String(sequence)),
            "flatten": isFlattened ? "true" : "false",
        ]
        parameters["filter"] = folder.map { .text($0) }
        return try await call(
            PydioRequest(.get, "changes", parameters, path: ["seq_id"]), .changes(after: sequence))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func changes(
        workspaceId: String, since sequence: Int64, folder: String? = nil, isFlattened: Bool = true,
        success: @escaping (PydioChangesResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.changes(
                workspaceId: workspaceId, since: sequence, folder: folder, isFlattened: isFlattened)
        }
    }

    // MARK: Messages (section 8)

    /// Opens a mailbox on a workspace's channel.
    package func registerChannel(workspaceId: String, clientId: String) async throws {
        try await call(
            .channel("client_register_channel", workspaceId, clientId), .nothing(for: "client_register_channel"))
    }

    /// Takes the messages waiting in a mailbox, and opens it if necessary. The server delivers each message only once.
    package func consumeChannel(workspaceId: String, clientId: String) async throws -> [ChannelMessage] {
        var request = PydioRequest.channel("client_consume_channel", workspaceId, clientId)
        request.isSentOnce = true
        return try await call(request, .messages)
    }

    /// Closes a mailbox.
    package func unregisterChannel(workspaceId: String, clientId: String) async throws {
        try await call(
            .channel("client_unregister_channel", workspaceId, clientId), .nothing(for: "client_unregister_channel"))
    }

    /// Returns the authorization of a WebSocket's handshake (section 9): the value of its field `Cookie`, or an
    /// addition to its URL's query.
    package func webSocketPass() throws(PydioError) -> (cookies: String?, query: String?) {
        let operations = try operations()
        switch operations.authorization.pass().1 {
        case .session(let cookies, _): return (cookies, nil)
        case .signed(let token, let nonce):
            let hash = token.hash(path: operations.authorization.connection.server.webSocketSignaturePath, nonce: nonce)
            return (nil, "auth_hash=\(hash.percentEncoded)&auth_token=\(token.token.percentEncoded)")
        case .basic: return (nil, nil)
        }
    }

    /// The server's name in the names of channels.
    package var channelServer: String {
        get throws(PydioError) { try operations().authorization.connection.server.channelName }
    }
}

extension PydioRequest {
    /// Returns a request for a channel. It includes the workspace, because newer servers deliver only to a session in
    /// it.
    static func channel(_ action: String, _ workspaceId: String, _ clientId: String) -> PydioRequest {
        PydioRequest(
            .get, action,
            [
                "tmp_repository_id": .text(workspaceId), "channel": .text("nodes:" + workspaceId),
                "client_id": .text(clientId),
            ], path: ["channel", "client_id"])
    }
}

extension ServerAddress {
    /// The path to sign for a WebSocket: not its own, but one below the server's (11.1).
    var webSocketSignaturePath: String { path + "api/pydio/ws_authenticate" }
}
