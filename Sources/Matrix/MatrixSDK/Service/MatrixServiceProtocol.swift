public import Foundation
public import LinuxCombine

/// A Matrix account as an application uses it: rooms and messages as values, everything on the main actor.
///
/// Methods throw ``MatrixServiceError``, and `CancellationError` when their task is cancelled. A renewal of the access
/// token in the middle of one shows nowhere.
@MainActor
public protocol MatrixServiceProtocol: AnyObject {
    // MARK: State

    /// Whether what is shown is up to date.
    var connectionState: MatrixConnectionState { get }

    /// ``connectionState``, now and whenever it changes.
    var connectionStatePublisher: AnyPublisher<MatrixConnectionState, Never> { get }

    /// Who is logged in.
    var userId: String? { get }

    /// Called with each message that comes while we sync, our own included, and again when one changes: it is edited or
    /// redacted, gets a reaction or loses one.
    var onMessageReceived: ((MatrixMessage) -> Void)? { get set }

    /// Called with a room when something of it has changed.
    var onRoomUpdated: ((MatrixRoom) -> Void)? { get set }

    /// Called with a room's id and all who are typing there, without ourselves, whenever that changes.
    var onTypingIndicator: ((_ roomId: String, _ userIds: [String]) -> Void)? { get set }

    // MARK: Account

    /// Says which homeserver, and where to keep what is known of the account. Comes before everything else.
    ///
    /// - Parameters:
    ///   - homeserverURL: Its base URL, or the server name of user ids, from which it is found out.
    ///   - sessionPath: A folder of the service's own. It is made if it is not there.
    func initialize(homeserverURL: String, sessionPath: String) async throws

    /// Logs in with an access token from elsewhere.
    func login(novaUserId: String, accessToken: String) async throws

    /// Logs in with a password.
    ///
    /// - Parameter username: The user id, or its local part.
    func loginWithPassword(username: String, password: String) async throws

    /// Takes up what an earlier run has left in the session's folder. Needs no network.
    ///
    /// - Returns: False if there is nothing: log in then.
    func restoreSession() async throws -> Bool

    /// Ends the session, also at the homeserver, and deletes what is kept here.
    func logout() async throws

    // MARK: Sync

    /// Begins, or goes on, to follow what happens. Returns when the first sync is here.
    func startSync() async throws

    /// Follows no longer; what is known stays readable.
    func stopSync() async throws

    // MARK: Rooms

    /// Makes a room, and joins it.
    ///
    /// - Returns: The room's id.
    func createRoom(name: String?, isDirect: Bool, inviteUserIds: [String], isEncrypted: Bool) async throws -> String

    /// Joins a room, or accepts an invitation.
    ///
    /// - Returns: The room's id.
    func joinRoom(roomIdOrAlias: String) async throws -> String

    /// Leaves a room, or declines an invitation.
    func leaveRoom(roomId: String) async throws

    /// A room that we have joined, were invited to or have knocked on, as far as it is known here.
    func getRoom(roomId: String) async throws -> MatrixRoom?

    /// The rooms that we have joined, the one with the newest message first.
    func getJoinedRooms() async throws -> [MatrixRoom]

    /// Invites somebody.
    func inviteUser(roomId: String, userId: String) async throws

    /// Removes somebody, who may come back if invited.
    func kickUser(roomId: String, userId: String, reason: String?) async throws

    // MARK: Messages

    /// Sends a text.
    ///
    /// - Parameter content: Markdown; what begins with `/me ` is an emote.
    /// - Returns: The event's id, when the homeserver has it.
    func sendMessage(roomId: String, content: String) async throws -> String

    /// Uploads a file and sends it, as image, video, audio or file, by its type.
    ///
    /// - Parameter mediaURL: A file here.
    /// - Returns: The event's id, when the homeserver has it.
    func sendMedia(roomId: String, mediaURL: URL, mimeType: String, caption: String?) async throws -> String

    /// Messages of a room, oldest first: what is kept here, then what the homeserver has.
    ///
    /// - Parameters:
    ///   - limit: How many at most. Fewer come at the room's beginning, and while the homeserver cannot be asked for more.
    ///   - from: The id of a message: those before it. Nil: the newest.
    func getRoomMessages(roomId: String, limit: Int, from: String?) async throws -> [MatrixMessage]

    /// Puts another text in the place of what a message of ours says.
    func editMessage(roomId: String, eventId: String, newContent: String) async throws

    /// Takes a message back.
    func redactMessage(roomId: String, eventId: String, reason: String?) async throws

    /// Tells the others whether we are typing.
    func setTyping(roomId: String, isTyping: Bool) async throws

    /// Tells everybody that we have read everything.
    func markRoomAsRead(roomId: String) async throws

    // MARK: Reactions

    /// Gives a reaction, or takes it back if we have given it.
    func toggleReaction(roomId: String, eventId: String, emoji: String) async throws

    /// Gives a reaction. Nothing happens if we have given it already.
    func sendReaction(roomId: String, eventId: String, emoji: String) async throws

    /// The reactions to a message, in the order in which they first came.
    func getReactions(roomId: String, eventId: String) async throws -> [MatrixReaction]
}

extension MatrixServiceProtocol {
    /// Makes a private room without encryption, and joins it.
    public func createRoom(name: String?, inviteUserIds: [String] = []) async throws -> String {
        try await createRoom(name: name, isDirect: false, inviteUserIds: inviteUserIds, isEncrypted: false)
    }

    /// Removes somebody without saying why.
    public func kickUser(roomId: String, userId: String) async throws {
        try await kickUser(roomId: roomId, userId: userId, reason: nil)
    }

    /// Sends a file without a caption.
    public func sendMedia(roomId: String, mediaURL: URL, mimeType: String) async throws -> String {
        try await sendMedia(roomId: roomId, mediaURL: mediaURL, mimeType: mimeType, caption: nil)
    }

    /// The newest messages of a room, oldest first.
    public func getRoomMessages(roomId: String, limit: Int = 50) async throws -> [MatrixMessage] {
        try await getRoomMessages(roomId: roomId, limit: limit, from: nil)
    }

    /// Takes a message back without saying why.
    public func redactMessage(roomId: String, eventId: String) async throws {
        try await redactMessage(roomId: roomId, eventId: eventId, reason: nil)
    }
}
