public import MatrixSDK

/// Callback variants: the user's account data and tags.
extension MXRestClient {
    /// `accountData(ofType:)` with a callback.
    @discardableResult
    public func accountData(ofType type: String, completion: @escaping (MXResponse<JSONView?>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.accountData(ofType: type) }
    }

    /// `setAccountData(_:ofType:)` with a callback.
    @discardableResult
    public func setAccountData(
        _ content: [String: Any], ofType type: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) { try await self.setAccountData(encodedContent, ofType: type) }
    }

    /// `roomAccountData(inRoom:ofType:)` with a callback.
    @discardableResult
    public func roomAccountData(
        inRoom roomId: String, ofType type: String, completion: @escaping (MXResponse<JSONView?>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.roomAccountData(inRoom: roomId, ofType: type) }
    }

    /// `setRoomAccountData(_:inRoom:ofType:)` with a callback.
    @discardableResult
    public func setRoomAccountData(
        _ content: [String: Any], inRoom roomId: String, ofType type: String,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) { try await self.setRoomAccountData(encodedContent, inRoom: roomId, ofType: type) }
    }

    /// `tags(ofRoom:)` with a callback.
    @discardableResult
    public func tags(ofRoom roomId: String, completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.tags(ofRoom: roomId) }
    }

    /// `addTag(_:order:toRoom:)` with a callback.
    @discardableResult
    public func addTag(
        _ tag: String, order: Double? = nil, toRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.addTag(tag, order: order, toRoom: roomId) }
    }

    /// `removeTag(_:fromRoom:)` with a callback.
    @discardableResult
    public func removeTag(_ tag: String, fromRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.removeTag(tag, fromRoom: roomId) }
    }
}
