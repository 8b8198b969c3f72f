public import MatrixSDK

/// Callback variants: room state and members.
extension MXRestClient {
    /// `state(ofRoom:)` with a callback.
    @discardableResult
    public func state(ofRoom roomId: String, completion: @escaping (MXResponse<[MXEvent]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.state(ofRoom: roomId) }
    }

    /// `stateEvent(ofRoom:eventType:stateKey:)` with a callback.
    @discardableResult
    public func stateEvent(
        ofRoom roomId: String, eventType: MXEventType, stateKey: String = "",
        completion: @escaping (MXResponse<JSONView>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.stateEvent(ofRoom: roomId, eventType: eventType, stateKey: stateKey) }
    }

    /// `sendStateEvent(toRoom:eventType:content:stateKey:)` with a callback.
    @discardableResult
    public func sendStateEvent(
        toRoom roomId: String, eventType: MXEventType, content: [String: Any], stateKey: String = "",
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) {
            try await self.sendStateEvent(
                toRoom: roomId, eventType: eventType, content: encodedContent, stateKey: stateKey)
        }
    }

    /// `setRoomName(_:ofRoom:)` with a callback.
    @discardableResult
    public func setRoomName(_ name: String, ofRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.setRoomName(name, ofRoom: roomId) }
    }

    /// `setRoomTopic(_:ofRoom:)` with a callback.
    @discardableResult
    public func setRoomTopic(_ topic: String, ofRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.setRoomTopic(topic, ofRoom: roomId) }
    }

    /// `setRoomAvatar(_:ofRoom:)` with a callback.
    @discardableResult
    public func setRoomAvatar(_ url: String, ofRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.setRoomAvatar(url, ofRoom: roomId) }
    }

    /// `members(ofRoom:at:membership:notMembership:)` with a callback.
    @discardableResult
    public func members(
        ofRoom roomId: String, at token: String? = nil, membership: MXMembership? = nil,
        notMembership: MXMembership? = nil, completion: @escaping (MXResponse<[MXEvent]>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.members(ofRoom: roomId, at: token, membership: membership, notMembership: notMembership)
        }
    }

    /// `joinedMembers(ofRoom:)` with a callback.
    @discardableResult
    public func joinedMembers(ofRoom roomId: String, completion: @escaping (MXResponse<[String: MXProfile]>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.joinedMembers(ofRoom: roomId) }
    }

    /// `joinedRooms()` with a callback.
    @discardableResult
    public func joinedRooms(completion: @escaping (MXResponse<[String]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.joinedRooms() }
    }
}
