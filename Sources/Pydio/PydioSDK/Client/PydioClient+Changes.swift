import CurlTransport
import PydioProtocol
import Transport

extension PydioClient {
    /// What has happened in a workspace after a place in the server's log of changes. Not all servers keep one: where there
    /// is none, this fails with ``PydioError/Code-swift.enum/receivedNotExpectedAnswer`` or an error of the server's.
    ///
    /// - Parameters:
    ///   - sequence: ``PydioChangesResponse/lastSequence`` of the last time; 0 is the beginning.
    ///   - folder: Only what is in this folder; paths are then such below it. Nil is everything.
    ///   - isFlattened: Whether only the net effect on each node is told.
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

    /// The same with blocks.
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

    /// Takes what waits in a mailbox; opens it if it is not. What the answer brings is told only once.
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

    /// What a WebSocket's handshake is authorised by (section 9): the value of its field `Cookie`, or what is added to its
    /// URL's query.
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
    /// The workspace is sent as well: newer servers deliver only to a session in it.
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
    /// Not the WebSocket's own path, but one below the server's (11.1).
    var webSocketSignaturePath: String { path + "api/pydio/ws_authenticate" }
}
