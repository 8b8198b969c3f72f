public import MatrixSDK

/// Callback variants: accounts, passwords, third-party identifiers.
extension MXRestClient {
    /// `register(username:password:deviceId:deviceDisplayName:isLoggedIn:)` with a callback.
    @discardableResult
    public func register(
        username: String?, password: String?, deviceId: String? = nil, deviceDisplayName: String? = nil,
        isLoggedIn: Bool = true, completion: @escaping (MXResponse<MXInteractiveStep<MXCredentials?>>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.register(
                username: username, password: password, deviceId: deviceId, deviceDisplayName: deviceDisplayName,
                isLoggedIn: isLoggedIn)
        }
    }

    /// `isUsernameAvailable(_:)` with a callback.
    @discardableResult
    public func isUsernameAvailable(_ username: String, completion: @escaping (MXResponse<Bool>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.isUsernameAvailable(username) }
    }

    /// `changePassword(to:logoutDevices:)` with a callback.
    @discardableResult
    public func changePassword(
        to newPassword: String, logoutDevices: Bool = true,
        completion: @escaping (MXResponse<MXInteractiveStep<Bool>>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.changePassword(to: newPassword, logoutDevices: logoutDevices) }
    }

    /// `deactivateAccount(eraseData:)` with a callback.
    @discardableResult
    public func deactivateAccount(
        eraseData: Bool = false, completion: @escaping (MXResponse<MXInteractiveStep<Bool>>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.deactivateAccount(eraseData: eraseData) }
    }

    /// `thirdPartyIdentifiers()` with a callback.
    @discardableResult
    public func thirdPartyIdentifiers(completion: @escaping (MXResponse<[MXThirdPartyIdentifier]>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.thirdPartyIdentifiers() }
    }

    /// `turnServer()` with a callback.
    @discardableResult
    public func turnServer(completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.turnServer() }
    }
}
