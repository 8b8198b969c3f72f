import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// How a user shows.
    public func profile(ofUser userId: String) async throws -> MXProfile {
        let answer = try await json(APICall(.get, "v3/profile/\(userId)", authorization: .optional))
        return MXProfile(displayName: answer["displayname"]?.string, avatarUrl: answer["avatar_url"]?.string)
    }

    /// Sets the user's display name; nil removes it.
    public func setDisplayName(_ name: String?) async throws {
        try await setProfile("displayname", name)
    }

    /// Sets the user's avatar, an `mxc:` URL; nil removes it.
    public func setAvatarUrl(_ url: String?) async throws {
        try await setProfile("avatar_url", url)
    }

    private func setProfile(_ field: String, _ value: String?) async throws {
        // An empty one, since not every server lets a field be deleted.
        try await perform(APICall(.put, "v3/profile/\(try userId())/\(field)", json: [field: value ?? ""]))
    }
}

/// How a user shows.
public struct MXProfile: Sendable, Hashable {
    /// Nil: none was chosen.
    public let displayName: String?
    /// An `mxc:` URL.
    public let avatarUrl: String?

}

extension MXProfile {
    /// Of a list of members.
    init(member: JSONView) {
        self.init(displayName: member["display_name"]?.string, avatarUrl: member["avatar_url"]?.string)
    }
}
