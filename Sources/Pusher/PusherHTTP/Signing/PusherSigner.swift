import JSONBytes
import PusherProtocol

/// Signs answers for an application's auth endpoint, which decides who may subscribe to which channels.
///
///     let signer = PusherSigner(key: "key", secret: "secret")
///     let body = try signer.authorizeChannel(socketID: "1.2", channel: "private-orders")
///     // answer 200 with this JSON
///
/// The endpoint must check the user's permission before it calls the signer. A request that must not be signed throws a
/// ``PusherHTTPError`` of kind ``PusherHTTPError/Kind-swift.enum/invalidArgument``.
public struct PusherSigner: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    let credentials: AppCredentials
    private let encryptionMasterKey: String?

    /// - Parameter encryptionMasterKey: Base64 of 32 bytes, for encrypted channels. The calls that need the key report
    ///   it if it is invalid.
    public init(key: String, secret: String, encryptionMasterKey: String? = nil) {
        credentials = AppCredentials(key: key, secret: secret)
        self.encryptionMasterKey = encryptionMasterKey
    }

    /// A description without the secret and the master key.
    public var description: String { "a signer with the \(credentials)" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the answer for a private, encrypted or presence channel, as JSON text.
    ///
    /// - Parameters:
    ///   - socketID: The connection, as reported by the client.
    ///   - userID: The user's id, required for a presence channel. The protocol allows 128 characters.
    ///   - userInfo: Information about the user for the other members. The protocol allows 1 KB.
    public func authorizeChannel(
        socketID: String, channel: String, userID: String? = nil, userInfo: (any Encodable)? = nil
    ) throws(PusherHTTPError) -> String {
        var info: String?
        if let userInfo { info = try CallersJSON.encode(userInfo, of: "the user info") }
        guard let userID else {
            guard info == nil else { throw PusherHTTPError(.invalidArgument, "user info needs a user id") }
            return try authorizeChannel(socketID: socketID, channel: channel, channelData: nil)
        }
        let data = Self.channelData(userID: userID, userInfo: info)
        return try authorizeChannel(socketID: socketID, channel: channel, channelData: data)
    }

    /// Returns the answer for a channel with existing `channel_data`.
    ///
    /// - Parameter channelData: A JSON object with `user_id`. It is signed and returned unchanged.
    public func authorizeChannel(
        socketID: String, channel: String, channelData: String?
    ) throws(PusherHTTPError) -> String {
        let socketID = try Self.socketID(socketID)
        let channel = try ArgumentRules.channelName(channel)
        guard channel.needsAuthorization else {
            throw PusherHTTPError(
                .invalidArgument,
                channel.kind == .serverToUser
                    ? "“\(channel)” cannot be authorized: only its user gets it, by signing in"
                    : "“\(channel)” needs no authorization: everybody may subscribe")
        }
        switch (channel.kind, channelData) {
        case (.presence, nil):
            throw PusherHTTPError(.invalidArgument, "“\(channel)” is a presence channel, which needs a user id")
        case (_, let data?):
            guard let id = JSON.identifier(JSON.object(data)?["user_id"]), !id.isEmpty else {
                throw PusherHTTPError(.invalidArgument, "the channel data is not a JSON object with a user_id")
            }
        case (_, nil): break
        }
        let auth = credentials.channelAuth(socketID: socketID, channel: channel, channelData: channelData)
        let sharedSecret = channel.kind == .encrypted ? try key(of: channel).base64 : nil
        return Self.object([
            ("auth", JSONString.quoted(auth)), ("channel_data", channelData.map(JSONString.quoted)),
            ("shared_secret", sharedSecret.map(JSONString.quoted)),
        ])
    }

    /// Returns the answer for a user who signs in, as JSON text.
    ///
    /// - Parameters:
    ///   - userID: 1 to 200 of the characters allowed in channel names.
    ///   - userInfo: Information about the user, sent to the user's own connection.
    ///   - watchlist: Ids of users whose online status is reported to the connection. Servers accept 100.
    public func authenticateUser(
        socketID: String, userID: String, userInfo: (any Encodable)? = nil, watchlist: [String] = []
    ) throws(PusherHTTPError) -> String {
        var info: String?
        if let userInfo { info = try CallersJSON.encode(userInfo, of: "the user info") }
        let watched = watchlist.isEmpty ? nil : try CallersJSON.encode(watchlist, of: "the watchlist")
        let data = Self.userData(userID: userID, userInfo: info, watchlist: watched)
        return try authenticateUser(socketID: socketID, userData: data)
    }

    /// Returns the answer for a user who signs in with existing `user_data`.
    ///
    /// - Parameter userData: A JSON object with `id`, a string. It is signed and returned unchanged.
    public func authenticateUser(socketID: String, userData: String) throws(PusherHTTPError) -> String {
        let socketID = try Self.socketID(socketID)
        guard let user = JSON.object(userData)?["id"] as? String else {
            throw PusherHTTPError(.invalidArgument, "the user data is not a JSON object with a string id")
        }
        _ = try UserID(user)
        let auth = credentials.userAuth(socketID: socketID, userData: userData)
        return Self.object([("auth", JSONString.quoted(auth)), ("user_data", JSONString.quoted(userData))])
    }

    /// Returns the key that the members of an encrypted channel share.
    func key(of channel: ChannelName) throws(PusherHTTPError) -> ChannelKey {
        guard let encryptionMasterKey else {
            throw PusherHTTPError(.invalidArgument, "an encrypted channel needs an encryptionMasterKey")
        }
        guard let masterKey = EncryptionMasterKey(base64: encryptionMasterKey) else {
            throw PusherHTTPError(.invalidArgument, "the encryptionMasterKey is not base64 of 32 bytes")
        }
        return masterKey.key(of: channel)
    }

    // MARK: JSON

    /// - Parameter userInfo: JSON text.
    package static func channelData(userID: String, userInfo: String?) -> String {
        object([("user_id", JSONString.quoted(userID)), ("user_info", userInfo)])
    }

    /// - Parameters:
    ///   - userInfo: JSON text.
    ///   - watchlist: JSON text.
    package static func userData(userID: String, userInfo: String?, watchlist: String?) -> String {
        object([("id", JSONString.quoted(userID)), ("user_info", userInfo), ("watchlist", watchlist)])
    }

    /// Returns an object of the members that have JSON text, in this order.
    private static func object(_ members: [(name: String, json: String?)]) -> String {
        let members = members.compactMap { member in member.json.map { "\(JSONString.quoted(member.name)):\($0)" } }
        return "{\(members.joined(separator: ","))}"
    }

    private static func socketID(_ text: String) throws(PusherHTTPError) -> SocketID {
        guard let socketID = SocketID(text) else { throw ArgumentRules.badSocketID }
        return socketID
    }
}
