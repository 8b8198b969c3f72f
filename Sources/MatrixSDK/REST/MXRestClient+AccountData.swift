public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// The user's data of a type; nil if there is none.
    public func accountData(ofType type: String) async throws -> JSONView? {
        try await optional(APICall(.get, "v3/user/\(try userId())/account_data/\(type)"))
    }

    /// The same with a callback.
    @discardableResult
    public func accountData(ofType type: String, completion: @escaping (MXResponse<JSONView?>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.accountData(ofType: type) }
    }

    /// Sets the user's data of a type.
    public func setAccountData(_ content: [String: Any], ofType type: String) async throws {
        try await setAccountData(EncodedJSON(content), ofType: type)
    }

    func setAccountData(_ content: EncodedJSON, ofType type: String) async throws {
        try await perform(APICall(.put, "v3/user/\(try userId())/account_data/\(type)", body: content))
    }

    /// The same with a callback.
    @discardableResult
    public func setAccountData(
        _ content: [String: Any], ofType type: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) { try await self.setAccountData(encodedContent, ofType: type) }
    }

    /// The user's data of a type in a room; nil if there is none.
    public func roomAccountData(inRoom roomId: String, ofType type: String) async throws -> JSONView? {
        try await optional(APICall(.get, "v3/user/\(try userId())/rooms/\(roomId)/account_data/\(type)"))
    }

    /// The same with a callback.
    @discardableResult
    public func roomAccountData(
        inRoom roomId: String, ofType type: String, completion: @escaping (MXResponse<JSONView?>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.roomAccountData(inRoom: roomId, ofType: type) }
    }

    /// Sets the user's data of a type in a room.
    public func setRoomAccountData(_ content: [String: Any], inRoom roomId: String, ofType type: String) async throws {
        try await setRoomAccountData(EncodedJSON(content), inRoom: roomId, ofType: type)
    }

    func setRoomAccountData(_ content: EncodedJSON, inRoom roomId: String, ofType type: String) async throws {
        try await perform(
            APICall(.put, "v3/user/\(try userId())/rooms/\(roomId)/account_data/\(type)", body: content))
    }

    /// The same with a callback.
    @discardableResult
    public func setRoomAccountData(
        _ content: [String: Any], inRoom roomId: String, ofType type: String,
        completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        let encodedContent = EncodedJSON(content)
        return operation(completion) { try await self.setRoomAccountData(encodedContent, inRoom: roomId, ofType: type) }
    }

    /// The answer; nil if the server has none (`M_NOT_FOUND`).
    func optional(_ call: APICall) async throws -> JSONView? {
        do {
            return try await json(call)
        } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {
            return nil
        }
    }

    // MARK: Tags

    /// The user's tags of a room: an object of `m.tag`'s members.
    public func tags(ofRoom roomId: String) async throws -> JSONView {
        try await json(APICall(.get, "v3/user/\(try userId())/rooms/\(roomId)/tags"))
    }

    /// The same with a callback.
    @discardableResult
    public func tags(ofRoom roomId: String, completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.tags(ofRoom: roomId) }
    }

    /// Tags a room.
    ///
    /// - Parameter order: Among the rooms of that tag, from 0 to 1.
    public func addTag(_ tag: String, order: Double? = nil, toRoom roomId: String) async throws {
        try await perform(APICall(.put, "v3/user/\(try userId())/rooms/\(roomId)/tags/\(tag)", json: ["order": order]))
    }

    /// The same with a callback.
    @discardableResult
    public func addTag(
        _ tag: String, order: Double? = nil, toRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.addTag(tag, order: order, toRoom: roomId) }
    }

    /// Removes a tag.
    public func removeTag(_ tag: String, fromRoom roomId: String) async throws {
        try await perform(APICall(.delete, "v3/user/\(try userId())/rooms/\(roomId)/tags/\(tag)"))
    }

    /// The same with a callback.
    @discardableResult
    public func removeTag(_ tag: String, fromRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.removeTag(tag, fromRoom: roomId) }
    }
}
