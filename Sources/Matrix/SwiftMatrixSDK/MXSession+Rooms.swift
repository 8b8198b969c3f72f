public import MatrixSDK

/// Callback variants: joining and leaving rooms.
extension MXSession {
    /// `createRoom(parameters:)` with a callback.
    @discardableResult
    public func createRoom(
        parameters: MXRoomCreationParameters, completion: @escaping (MXResponse<MXRoom>) -> Void
    ) -> MXHTTPOperation {
        matrixRestClient.operation(completion, creation(parameters))
    }

    /// `joinRoom(_:viaServers:)` with a callback.
    @discardableResult
    public func joinRoom(
        _ roomIdOrAlias: String, viaServers: [String]? = nil, completion: @escaping (MXResponse<MXRoom>) -> Void
    ) -> MXHTTPOperation {
        matrixRestClient.operation(completion) { try await self.joinRoom(roomIdOrAlias, viaServers: viaServers) }
    }

    /// `leaveRoom(_:)` with a callback.
    @discardableResult
    public func leaveRoom(_ roomId: String, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        matrixRestClient.operation(completion) { try await self.leaveRoom(roomId) }
    }
}
