import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns a user's profile.
    public func profile(ofUser userId: String) async throws -> MXProfile {
        let answer = try await json(APICall(.get, "v3/profile/\(userId)", authorization: .optional))
        return MXProfile(displayName: answer["displayname"]?.string, avatarUrl: answer["avatar_url"]?.string)
    }

    /// Sets the user's display name; pass `nil` to remove it.
    public func setDisplayName(_ name: String?) async throws {
        try await setProfile("displayname", name)
    }

    /// Sets the user's avatar, an `mxc:` URL; pass `nil` to remove it.
    public func setAvatarUrl(_ url: String?) async throws {
        try await setProfile("avatar_url", url)
    }

    private func setProfile(_ field: String, _ value: String?) async throws {
        // An empty value, because not every server can delete a field.
        try await perform(APICall(.put, "v3/profile/\(try userId())/\(field)", json: [field: value ?? ""]))
    }
}

/// A user's display name and avatar.
public struct MXProfile: Sendable, Hashable {
    /// The display name, if any.
    public let displayName: String?
    /// The avatar, an `mxc:` URL.
    public let avatarUrl: String?

}

extension MXProfile {
    /// Creates the profile of an entry in a list of members.
    init(member: JSONView) {
        self.init(displayName: member["display_name"]?.string, avatarUrl: member["avatar_url"]?.string)
    }
}
