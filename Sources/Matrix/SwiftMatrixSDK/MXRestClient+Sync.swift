public import MatrixSDK

/// Callback variants: syncs and filters.
extension MXRestClient {
    /// `sync(since:timeout:filter:setPresence:fullState:useStateAfter:needsFreshConnection:patience:onProgress:)`
    /// with a callback.
    @discardableResult
    public func sync(
        since: String? = nil, timeout: Duration = .zero, filter: String? = nil, setPresence: MXPresence? = nil,
        fullState: Bool = false, useStateAfter: Bool = true, completion: @escaping (MXResponse<[UInt8]>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.sync(
                since: since, timeout: timeout, filter: filter, setPresence: setPresence, fullState: fullState,
                useStateAfter: useStateAfter)
        }
    }

    /// `createFilter(_:)` with a callback.
    @discardableResult
    public func createFilter(_ filter: [String: Any], completion: @escaping (MXResponse<String>) -> Void)
        -> MXHTTPOperation
    {
        let encodedFilter = EncodedJSON(filter)
        return operation(completion) { try await self.createFilter(encodedFilter) }
    }

    /// `filter(withId:)` with a callback.
    @discardableResult
    public func filter(withId filterId: String, completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation
    {
        operation(completion) { try await self.filter(withId: filterId) }
    }
}
