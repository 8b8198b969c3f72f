import Basics
public import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// Registers an account, and logs in with it. The server says what it asks for as a challenge.
    ///
    /// - Parameter isLoggedIn: Whether to log in as well; else the answer has no credentials.
    public func register(
        username: String?, password: String?, deviceId: String? = nil, deviceDisplayName: String? = nil,
        isLoggedIn: Bool = true
    ) async throws -> MXInteractiveStep<MXCredentials?> {
        let call = APICall(
            .post, "v3/register", query: [("kind", "user")],
            json: [
                "username": username, "password": password, "device_id": deviceId,
                "initial_device_display_name": deviceDisplayName, "inhibit_login": !isLoggedIn,
                "refresh_token": isLoggedIn,
            ], authorization: .none)
        return try await interactive(call) { [self] response in
            guard isLoggedIn else { return nil }
            guard let answer = JSONView(response.body) else { throw Self.unexpected(call) }
            return try adopt(answer, asked: nil)
        }
    }

    /// Whether a name is free. The reason why it is not is thrown.
    public func isUsernameAvailable(_ username: String) async throws -> Bool {
        do {
            let call = APICall(.get, "v3/register/available", query: [("username", username)], authorization: .none)
            return try await json(call)["available"]?.bool ?? false
        } catch let error as MXError where error.errcode == kMXErrCodeStringUserInUse {
            return false
        }
    }

    /// Changes the password.
    ///
    /// - Parameter logoutDevices: Whether all other devices are logged out.
    public func changePassword(to newPassword: String, logoutDevices: Bool = true) async throws -> MXInteractiveStep<
        Bool
    > {
        let call = APICall(
            .post, "v3/account/password", json: ["new_password": newPassword, "logout_devices": logoutDevices])
        return try await interactive(call) { _ in true }
    }

    /// Gives the account up, for good.
    ///
    /// - Parameter eraseData: Whether others who join later are to see no messages of it.
    public func deactivateAccount(eraseData: Bool = false) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.post, "v3/account/deactivate", json: ["erase": eraseData])) { _ in true }
    }

    /// The email addresses and phone numbers of the account.
    public func thirdPartyIdentifiers() async throws -> [MXThirdPartyIdentifier] {
        let json = try await json(APICall(.get, "v3/account/3pid"))
        return json["threepids"]?.array?.compactMap {
            try? JSONDecoder().decode(MXThirdPartyIdentifier.self, from: $0.data)
        } ?? []
    }

    /// Servers that relay calls; an object without members if there are none.
    public func turnServer() async throws -> JSONView {
        try await json(APICall(.get, "v3/voip/turnServer"))
    }
}

/// An address of an account.
public struct MXThirdPartyIdentifier: Sendable, Hashable, Codable {
    /// `email` or `msisdn`.
    public let medium: String
    /// The address itself.
    public let address: String
}
