import Basics
import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// The ways to log in that the server offers.
    public func loginFlows() async throws -> [MXLoginFlow] {
        try await list("flows", of: APICall(.get, "v3/login", authorization: .none)).compactMap { MXLoginFlow($0) }
    }

    /// Logs in with a password, and makes the calls of this client those of the user.
    ///
    /// - Parameters:
    ///   - username: A local part, or a whole user id.
    ///   - deviceId: An older device of the user's, which then goes on with new tokens; nil makes a new device.
    ///   - deviceDisplayName: How the user's list of devices shows a new one.
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

    /// Logs in with a token that is good for one login: from a browser, or of ``loginToken()``.
    @discardableResult
    public func login(token: String, deviceId: String? = nil, deviceDisplayName: String? = nil) async throws
        -> MXCredentials
    {
        try await login(
            parameters: EncodedJSON(
                ["type": "m.login.token", "token": token].merging(device(deviceId, deviceDisplayName)) { $1 }))
    }

    /// Logs in with any parameters of the specification's. `refresh_token` is added.
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

    /// Takes over what a login or a registration gave.
    ///
    /// - Parameter asked: The user who was asked for, as a user id or its local part; nil if nobody was.
    func adopt(_ answer: JSONView, asked: String?) throws -> MXCredentials {
        guard let userId = answer["user_id"]?.string, let accessToken = answer["access_token"]?.string,
            !accessToken.isEmpty
        else {
            throw MatrixError(.badResponse, "the server's answer to a login names no user, or has no access token")
        }
        var warnings: [MXLoginWarning] = []
        if let asked, let warning = MXLoginWarning(asked: asked, given: userId) { warnings.append(warning) }
        if let moved = answer["well_known"]?["m.homeserver"]?["base_url"]?.string, MXWellKnown.isUsable(moved),
            moved.hasPrefix("https:") || !homeserver.url.hasPrefix("https:")  // a token never goes on in the clear
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

    /// Where a browser logs in. It ends at `redirectURL` with the parameter `loginToken`, see
    /// ``login(token:deviceId:deviceDisplayName:)``.
    ///
    /// - Parameter identityProvider: One of ``MXLoginFlow/identityProviders``; nil lets the server ask.
    /// - Returns: Nil if the homeserver's address is none, or the provider's id cannot be a part of one.
    public func ssoURL(redirectURL: String, identityProvider: String? = nil) -> URL? {
        var path = homeserver.url + "/_matrix/client/v3/login/sso/redirect"
        if let identityProvider {
            guard let provider = PathSegment(identityProvider) else { return nil }
            path += "/" + provider.escaped
        }
        return URL(string: path + "?redirectUrl=" + redirectURL.percentEncoded)
    }

    /// A token with which another client of the user's logs in. The server may want more than the access token for it.
    public func loginToken() async throws -> MXInteractiveStep<MXLoginToken> {
        try await interactive(APICall(.post, "v1/login/get_token", body: .empty)) {
            try JSONDecoder().decode(MXLoginToken.self, from: Data($0.body))
        }
    }

    /// Whose the access token is. Also takes over user and device id, for a token from elsewhere.
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

    /// Logs out; the server deletes the device. A token that is dead already counts as logged out.
    public func logout() async throws {
        try await logOut("v3/logout")
    }

    /// Logs out all devices of the user.
    public func logoutAll() async throws {
        try await logOut("v3/logout/all")
    }

    private func logOut(_ path: EndpointPath) async throws {
        do {
            try await perform(APICall(.post, path, body: .empty))
        } catch let error as MXError where error.status == 401 || error.status == 403 {
            // The token is dead, and could not be refreshed: what was wanted is so.
        }
        tokens.loggedOut()
    }
}

extension JSONView {
    /// The user whom the parameters of a login name; nil if they name an address, a token or nobody.
    fileprivate var askedUser: String? {
        guard let identifier = self["identifier"] else { return self["user"]?.string }
        return identifier["type"]?.string == "m.id.user" ? identifier["user"]?.string : nil
    }
}

/// A way to log in that a server offers.
public struct MXLoginFlow: Sendable, Hashable {
    /// Someone else who says who the user is.
    public struct IdentityProvider: Sendable, Hashable, Codable {
        /// Goes into the address of the login page.
        public let id: String
        /// For people.
        public let name: String?
        /// An `mxc:` URL.
        public let icon: String?
        /// A well-known provider's, such as `github`.
        public let brand: String?
    }

    /// How it is called in the protocol.
    public let type: MXLoginFlowType
    /// With ``MXLoginFlowType/sso``.
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

/// Ways to log in.
@nonexhaustive
public enum MXLoginFlowType: Sendable, Hashable {
    case password
    case token
    /// Through a browser.
    case sso
    case dummy
    case custom(String)

    /// The flow of this name.
    public init(identifier: String) {
        switch identifier {
        case "m.login.password": self = .password
        case "m.login.token": self = .token
        case "m.login.sso": self = .sso
        case "m.login.dummy": self = .dummy
        default: self = .custom(identifier)
        }
    }

    /// Its name in the protocol.
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

/// Good for one login.
public struct MXLoginToken: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
    /// The token.
    public let token: String
    /// Milliseconds for which it is good.
    public let expiresIn: Int

    enum CodingKeys: String, CodingKey {
        case token = "login_token"
        case expiresIn = "expires_in_ms"
    }

    /// Never the token.
    public var description: String { "a login token" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Whose an access token is.
public struct MXWhoAmI: Sendable, Hashable, Codable {
    /// The user.
    public let userId: String
    /// Nil for tokens of no device.
    public let deviceId: String?
    /// Whether it is a guest.
    public let isGuest: Bool?

    enum CodingKeys: String, CodingKey {
        case userId = "user_id"
        case deviceId = "device_id"
        case isGuest = "is_guest"
    }
}
