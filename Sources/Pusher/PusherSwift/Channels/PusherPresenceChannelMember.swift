import JSONBytes
import PusherProtocol

/// A user on a presence channel.
public struct PusherPresenceChannelMember: Sendable {
    /// The user's id; numbers are given as their digits.
    public let userId: String
    /// JSON text; nil if there is none.
    private let userInfoText: String?
    private let isUserInfoValid: Bool

    /// A user to sign in as, for ``AuthMethod/inline(secret:)``.
    ///
    /// - Parameter userInfo: Anything that JSON can hold: dictionaries, arrays, strings, numbers.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        userInfoText = userInfo.flatMap(JSON.text)
        isUserInfoValid = userInfo == nil || userInfoText != nil
    }

    init(_ member: PresenceMembers.Member) {
        userId = member.userID
        userInfoText = member.userInfo
        isUserInfoValid = true
    }

    /// What the application's server told of the user: Swift values (`[String: Any]`, `[Any]`, `String`, numbers), parsed
    /// at each call.
    public var userInfo: Any? { userInfoText.flatMap(JSON.value) }

    /// The same as JSON text, for decoding into a type of your own.
    public var userInfoJSON: String? { userInfoText }

    /// The signed text of a presence subscription; nil if the user info cannot be written as JSON.
    var channelData: String? {
        guard isUserInfoValid else { return nil }
        return #"{"user_id":\#(JSONString.quoted(userId))"# + (userInfoText.map { #","user_info":\#($0)"# } ?? "") + "}"
    }
}
