public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns the user's account data of a type, or `nil` if there is none.
    public func accountData(ofType type: String) async throws -> JSONView? {
        try await optional(APICall(.get, "v3/user/\(try userId())/account_data/\(type)"))
    }

    /// Sets the user's account data of a type.
    public func setAccountData(_ content: [String: Any], ofType type: String) async throws {
        try await setAccountData(EncodedJSON(content), ofType: type)
    }

    package func setAccountData(_ content: EncodedJSON, ofType type: String) async throws {
        try await perform(APICall(.put, "v3/user/\(try userId())/account_data/\(type)", body: content))
    }

    /// Returns the user's account data of a type in a room, or `nil` if there is none.
    public func roomAccountData(inRoom roomId: String, ofType type: String) async throws -> JSONView? {
        try await optional(APICall(.get, "v3/user/\(try userId())/rooms/\(roomId)/account_data/\(type)"))
    }

    /// Sets the user's account data of a type in a room.
    public func setRoomAccountData(_ content: [String: Any], inRoom roomId: String, ofType type: String) async throws {
        try await setRoomAccountData(EncodedJSON(content), inRoom: roomId, ofType: type)
    }

    package func setRoomAccountData(_ content: EncodedJSON, inRoom roomId: String, ofType type: String) async throws {
        try await perform(
            APICall(.put, "v3/user/\(try userId())/rooms/\(roomId)/account_data/\(type)", body: content))
    }

    /// Returns the answer, or `nil` if the server responds with `M_NOT_FOUND`.
    func optional(_ call: APICall) async throws -> JSONView? {
        do {
            return try await json(call)
        } catch let error as MXError where error.errcode == kMXErrCodeStringNotFound {
            return nil
        }
    }

    // MARK: Tags

    /// Returns the user's tags of a room, an object in the form of `m.tag`.
    public func tags(ofRoom roomId: String) async throws -> JSONView {
        try await json(APICall(.get, "v3/user/\(try userId())/rooms/\(roomId)/tags"))
    }

    /// Tags a room.
    ///
    /// - Parameter order: The room's position among the rooms with that tag, from 0 to 1.
    public func addTag(_ tag: String, order: Double? = nil, toRoom roomId: String) async throws {
        try await perform(APICall(.put, "v3/user/\(try userId())/rooms/\(roomId)/tags/\(tag)", json: ["order": order]))
    }

    /// Removes a tag from a room.
    public func removeTag(_ tag: String, fromRoom roomId: String) async throws {
        try await perform(APICall(.delete, "v3/user/\(try userId())/rooms/\(roomId)/tags/\(tag)"))
    }
}
