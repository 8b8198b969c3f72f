import Basics
import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// Returns the ways to log in that the server offers.
    public func loginFlows() async throws -> [MXLoginFlow] {
        try await list("flows", of: APICall(.get, "v3/login", authorization: .none)).compactMap { MXLoginFlow($0) }
    }

    /// Logs in with a password. Subsequent calls of this client act for that user.
    ///
    /// - Parameters:
    ///   - username: A local part, or a whole user id.
    ///   - deviceId: An existing device of the user, which continues with new tokens; `nil` creates a new device.
    ///   - deviceDisplayName: The name of a new device in the user's device list.
    @discardableResult
    public func login(
        type: MXLoginFlowType = .password, username: String, password: String, deviceId: String? = nil,
        deviceDisplayName: String? = nil
    ) async throws -> MXCredentials {
        try await login(
            parameters: EncodedJSON(
                [
                    "type": type.identifier, "identifier": ["type": "m.id.user", "user": username],
                    "password": password,
                ].merging(device(deviceId, deviceDisplayName)) { $1 }))
    }

    /// Logs in with a single-use login token, from a browser or ``loginToken()``.
    @discardableResult
    public func login(token: String, deviceId: String? = nil, deviceDisplayName: String? = nil) async throws
        -> MXCredentials
    {
        try await login(
            parameters: EncodedJSON(
                ["type": "m.login.token", "token": token].merging(device(deviceId, deviceDisplayName)) { $1 }))
    }

    /// Logs in with any parameters from the specification. `refresh_token` is added automatically.
    @discardableResult
    public func login(parameters: [String: Any]) async throws -> MXCredentials {
        try await login(parameters: EncodedJSON(parameters))
    }

    @discardableResult
    package func login(parameters: EncodedJSON) async throws -> MXCredentials {
        let body = EncodedJSON(
            ["refresh_token": true].merging(JSONView(try parameters.bytes.get())?.foundation as? [String: Any] ?? [:]) {
                $1
            })
        let fields = JSONView(try body.bytes.get())
        return try adopt(
            try await json(APICall(.post, "v3/login", body: body, authorization: .none)), asked: fields?.askedUser)
    }

    private func device(_ id: String?, _ name: String?) -> [String: Any] {
        var fields: [String: Any] = ["refresh_token": true]
        fields["device_id"] = id
        fields["initial_device_display_name"] = name
        return fields
    }

    /// Adopts the credentials from the answer to a login or registration.
    ///
    /// - Parameter asked: The requested user, as a user id or its local part; `nil` if none was requested.
    func adopt(_ answer: JSONView, asked: String?) throws -> MXCredentials {
        guard let userId = answer["user_id"]?.string, let accessToken = answer["access_token"]?.string,
            !accessToken.isEmpty
        else {
            throw MatrixError(.badResponse, "the server's answer to a login names no user, or has no access token")
        }
        var warnings: [MXLoginWarning] = []
        if let asked, let warning = MXLoginWarning(asked: asked, given: userId) { warnings.append(warning) }
        if let moved = answer["well_known"]?["m.homeserver"]?["base_url"]?.string, MXWellKnown.isUsable(moved),
            moved.hasPrefix("https:") || !homeserver.url.hasPrefix("https:")  // never send a token in the clear
        {
            let before = homeserver.url
            homeserver.url = moved
            if homeserver.url != before { warnings.append(.otherServer(asked: before, given: homeserver.url)) }
        }
        let told = warnings
        lastLoginWarnings.withLock { $0 = told }
        var credentials = MXCredentials(homeServer: homeserver.url, userId: userId, accessToken: accessToken)
        credentials.deviceId = answer["device_id"]?.string
        credentials.refreshToken = answer["refresh_token"]?.string
        if let life = TokenMachine.life(answer["expires_in_ms"]?.wholePart) {
            credentials.accessTokenExpiresAt = AccessTokens.now + life
        }
        tokens.loggedIn(credentials)
        return credentials
    }

    /// Returns the URL for logging in with a browser, which ends at `redirectURL` with the parameter `loginToken`; see
    /// ``login(token:deviceId:deviceDisplayName:)``.
    ///
    /// - Parameter identityProvider: One of ``MXLoginFlow/identityProviders``; `nil` lets the server ask.
    /// - Returns: `nil` if the homeserver's address is not a URL, or the provider's id cannot be part of one.
    public func ssoURL(redirectURL: String, identityProvider: String? = nil) -> URL? {
        var path = homeserver.url + "/_matrix/client/v3/login/sso/redirect"
        if let identityProvider {
            guard let provider = PathSegment(identityProvider) else { return nil }
            path += "/" + provider.escaped
        }
        return URL(string: path + "?redirectUrl=" + redirectURL.percentEncoded)
    }

    /// Requests a token with which another client of the user can log in. The server may require authentication.
    public func loginToken() async throws -> MXInteractiveStep<MXLoginToken> {
        try await interactive(APICall(.post, "v1/login/get_token", body: .empty)) {
            try JSONDecoder().decode(MXLoginToken.self, from: Data($0.body))
        }
    }

    /// Returns the owner of the access token. Also adopts the user and device id, for a token obtained elsewhere.
    public func whoAmI() async throws -> MXWhoAmI {
        let who: MXWhoAmI = try await value(APICall(.get, "v3/account/whoami"))
        if var known = credentials, known.userId != who.userId || known.deviceId != who.deviceId {
            known.userId = who.userId
            known.deviceId = who.deviceId
            tokens.identify(known)
        }
        return who
    }

    // MARK: Logging out

    /// Logs out; the server deletes the device. A dead token counts as logged out.
    public func logout() async throws {
        try await logOut("v3/logout")
    }

    /// Logs out all of the user's devices.
    public func logoutAll() async throws {
        try await logOut("v3/logout/all")
    }

    private func logOut(_ path: EndpointPath) async throws {
        do {
            try await perform(APICall(.post, path, body: .empty))
        } catch let error as MXError where error.status == 401 || error.status == 403 {
            // The token is dead and could not be refreshed: the client is logged out already.
        }
        tokens.loggedOut()
    }
}

extension JSONView {
    /// The user named by the parameters of a login; `nil` if they name an address, a token or no user.
    fileprivate var askedUser: String? {
        guard let identifier = self["identifier"] else { return self["user"]?.string }
        return identifier["type"]?.string == "m.id.user" ? identifier["user"]?.string : nil
    }
}

/// A way to log in that a server offers.
public struct MXLoginFlow: Sendable, Hashable {
    /// A third party that authenticates the user.
    public struct IdentityProvider: Sendable, Hashable, Codable {
        /// The id, part of the login page's address.
        public let id: String
        /// The human-readable name.
        public let name: String?
        /// The icon, an `mxc:` URL.
        public let icon: String?
        /// The brand of a well-known provider, such as `github`.
        public let brand: String?
    }

    /// The type of login.
    public let type: MXLoginFlowType
    /// The providers for ``MXLoginFlowType/sso``.
    public let identityProviders: [IdentityProvider]

    init?(_ json: JSONView) {
        guard let type = json["type"]?.string else { return nil }
        self.type = MXLoginFlowType(identifier: type)
        identityProviders =
            json["identity_providers"]?.array?.compactMap {
                try? JSONDecoder().decode(IdentityProvider.self, from: $0.data)
            } ?? []
    }
}

/// A type of login.
@nonexhaustive
public enum MXLoginFlowType: Sendable, Hashable {
    case password
    case token
    /// Login through a browser.
    case sso
    case dummy
    case custom(String)

    /// Creates the type with this name.
    public init(identifier: String) {
        switch identifier {
        case "m.login.password": self = .password
        case "m.login.token": self = .token
        case "m.login.sso": self = .sso
        case "m.login.dummy": self = .dummy
        default: self = .custom(identifier)
        }
    }

    /// The type's name in the protocol.
    public var identifier: String {
        switch self {
        case .password: "m.login.password"
        case .token: "m.login.token"
        case .sso: "m.login.sso"
        case .dummy: "m.login.dummy"
        case .custom(let name): name
        }
    }
}

/// A token that is valid for one login.
public struct MXLoginToken: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    /// The token.
    public let token: String
    /// The number of milliseconds for which it is valid.
    public let expiresIn: Int

    enum CodingKeys: String, CodingKey {
        case token = "login_token"
        case expiresIn = "expires_in_ms"
    }

    /// A description without the token.
    public var description: String { "a login token" }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The owner of an access token.
public struct MXWhoAmI: Sendable, Hashable, Codable {
    /// The user's id.
    public let userId: String
    /// The device; `nil` for tokens without a device.
    public let deviceId: String?
    /// Whether the user is a guest.
    public let isGuest: Bool?

    enum CodingKeys: String, CodingKey {
        case userId = "user_id"
        case deviceId = "device_id"
        case isGuest = "is_guest"
    }
}
