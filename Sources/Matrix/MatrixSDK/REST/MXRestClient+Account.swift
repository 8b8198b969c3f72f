import Basics
public import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// Registers an account and logs in with it. The server's requirements arrive as a challenge.
    ///
    /// - Parameter isLoggedIn: Whether to log in as well. If false, the answer has no credentials.
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

    /// Returns whether a username is available. Throws the reason if it is not.
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
    /// - Parameter logoutDevices: Whether to log out all other devices.
    public func changePassword(to newPassword: String, logoutDevices: Bool = true) async throws -> MXInteractiveStep<
        Bool
    > {
        let call = APICall(
            .post, "v3/account/password", json: ["new_password": newPassword, "logout_devices": logoutDevices])
        return try await interactive(call) { _ in true }
    }

    /// Deactivates the account permanently.
    ///
    /// - Parameter eraseData: Whether to hide its messages from users who join rooms later.
    public func deactivateAccount(eraseData: Bool = false) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.post, "v3/account/deactivate", json: ["erase": eraseData])) { _ in true }
    }

    /// Returns the email addresses and phone numbers of the account.
    public func thirdPartyIdentifiers() async throws -> [MXThirdPartyIdentifier] {
        let json = try await json(APICall(.get, "v3/account/3pid"))
        return json["threepids"]?.array?.compactMap {
            try? JSONDecoder().decode(MXThirdPartyIdentifier.self, from: $0.data)
        } ?? []
    }

    /// Returns servers that relay calls, or an empty object if there are none.
    public func turnServer() async throws -> JSONView {
        try await json(APICall(.get, "v3/voip/turnServer"))
    }
}

/// An email address or phone number of an account.
public struct MXThirdPartyIdentifier: Sendable, Hashable, Codable {
    /// The kind of address: `email` or `msisdn`.
    public let medium: String
    /// The address itself.
    public let address: String
}
