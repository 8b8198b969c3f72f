public import MatrixSDK

/// Callback variants: logging in and out.
extension MXRestClient {
    /// `loginFlows()` with a callback.
    @discardableResult
    public func loginFlows(completion: @escaping (MXResponse<[MXLoginFlow]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.loginFlows() }
    }

    /// `login(type:username:password:deviceId:deviceDisplayName:)` with a callback.
    @discardableResult
    public func login(
        type: MXLoginFlowType = .password, username: String, password: String, deviceId: String? = nil,
        deviceDisplayName: String? = nil, completion: @escaping (MXResponse<MXCredentials>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.login(
                type: type, username: username, password: password, deviceId: deviceId,
                deviceDisplayName: deviceDisplayName)
        }
    }

    /// `login(token:deviceId:deviceDisplayName:)` with a callback.
    @discardableResult
    public func login(
        token: String, deviceId: String? = nil, deviceDisplayName: String? = nil,
        completion: @escaping (MXResponse<MXCredentials>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.login(token: token, deviceId: deviceId, deviceDisplayName: deviceDisplayName)
        }
    }

    /// `login(parameters:)` with a callback.
    @discardableResult
    public func login(parameters: [String: Any], completion: @escaping (MXResponse<MXCredentials>) -> Void)
        -> MXHTTPOperation
    {
        let encodedParameters = EncodedJSON(parameters)
        return operation(completion) { try await self.login(parameters: encodedParameters) }
    }

    /// `loginToken()` with a callback.
    @discardableResult
    public func loginToken(completion: @escaping (MXResponse<MXInteractiveStep<MXLoginToken>>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.loginToken() }
    }

    /// `whoAmI()` with a callback.
    @discardableResult
    public func whoAmI(completion: @escaping (MXResponse<MXWhoAmI>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.whoAmI() }
    }

    /// `logout()` with a callback.
    @discardableResult
    public func logout(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.logout() }
    }

    /// `logoutAll()` with a callback.
    @discardableResult
    public func logoutAll(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.logoutAll() }
    }
}
