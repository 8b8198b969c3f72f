public import MatrixSDK

/// Callback variants: user profiles.
extension MXRestClient {
    /// `profile(ofUser:)` with a callback.
    @discardableResult
    public func profile(ofUser userId: String, completion: @escaping (MXResponse<MXProfile>) -> Void) -> MXHTTPOperation
    {
        operation(completion) { try await self.profile(ofUser: userId) }
    }

    /// `setDisplayName(_:)` with a callback.
    @discardableResult
    public func setDisplayName(_ name: String?, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.setDisplayName(name) }
    }

    /// `setAvatarUrl(_:)` with a callback.
    @discardableResult
    public func setAvatarUrl(_ url: String?, completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.setAvatarUrl(url) }
    }
}
