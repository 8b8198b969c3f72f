package import MatrixSDK
package import MatrixTestSupport

extension MXRestClient {
    /// A client of a logged-in user, without long pauses.
    package static func make(
        _ server: FakeHomeserver, token: String? = "token", refreshToken: String? = nil, expiresAt: UInt64 = 0,
        options: MXRestClientOptions = .quick,
        persist: (@Sendable (MXCredentials) async throws -> Void)? = nil,
        unauthenticated: (@Sendable (MXError, Bool, Bool) -> Void)? = nil
    ) -> MXRestClient {
        var credentials = MXCredentials(homeServer: server.address, userId: "@a:s", accessToken: token)
        credentials.deviceId = "DEVICE"
        credentials.refreshToken = refreshToken
        credentials.accessTokenExpiresAt = expiresAt
        let client = MXRestClient(
            credentials: credentials, persistentTokenDataHandler: persist, unauthenticatedHandler: unauthenticated,
            options: options)
        client.completionQueue = .global()
        return client
    }
}

extension MXRestClientOptions {
    package static var quick: MXRestClientOptions {
        var options = MXRestClientOptions()
        options.proxy = ""
        options.connectionPause = .milliseconds(5)
        options.requestTimeout = .seconds(30)
        return options
    }
}
