public import MatrixSDK

/// Callback variants: the directory of public rooms, and aliases.
extension MXRestClient {
    /// `publicRooms(onServer:limit:since:filter:thirdPartyInstanceId:includeAllNetworks:)` with a callback.
    @discardableResult
    public func publicRooms(
        onServer server: String?, limit: UInt? = nil, since: String? = nil, filter: String? = nil,
        thirdPartyInstanceId: String? = nil, includeAllNetworks: Bool = false,
        completion: @escaping (MXResponse<MXPublicRoomsResponse>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.publicRooms(
                onServer: server, limit: limit, since: since, filter: filter,
                thirdPartyInstanceId: thirdPartyInstanceId, includeAllNetworks: includeAllNetworks)
        }
    }

    /// `publicRooms()` with a callback.
    @discardableResult
    public func publicRooms(completion: @escaping (MXResponse<[MXPublicRoom]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.publicRooms() }
    }

    /// `resolveRoomAlias(_:)` with a callback.
    @discardableResult
    public func resolveRoomAlias(_ alias: String, completion: @escaping (MXResponse<MXRoomAliasResolution>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.resolveRoomAlias(alias) }
    }

    /// `addRoomAlias(_:toRoom:)` with a callback.
    @discardableResult
    public func addRoomAlias(_ alias: String, toRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.addRoomAlias(alias, toRoom: roomId) }
    }

    /// `removeRoomAlias(_:)` with a callback.
    @discardableResult
    public func removeRoomAlias(_ alias: String, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.removeRoomAlias(alias) }
    }

    /// `aliases(ofRoom:)` with a callback.
    @discardableResult
    public func aliases(ofRoom roomId: String, completion: @escaping (MXResponse<[String]>) -> Void) -> MXHTTPOperation
    {
        operation(completion) { try await self.aliases(ofRoom: roomId) }
    }

    /// `directoryVisibility(ofRoom:)` with a callback.
    @discardableResult
    public func directoryVisibility(
        ofRoom roomId: String, completion: @escaping (MXResponse<MXRoomDirectoryVisibility>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.directoryVisibility(ofRoom: roomId) }
    }

    /// `setDirectoryVisibility(_:ofRoom:)` with a callback.
    @discardableResult
    public func setDirectoryVisibility(
        _ visibility: MXRoomDirectoryVisibility, ofRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.setDirectoryVisibility(visibility, ofRoom: roomId) }
    }
}
