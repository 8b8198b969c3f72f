public import Foundation
public import LinuxCombine

/// A Matrix account as an application uses it: rooms and messages as values, everything on the main actor.
///
/// Methods throw ``MatrixServiceError``, and `CancellationError` when their task is cancelled. A refresh of the access
/// token during a call is invisible to its caller.
@MainActor
public protocol MatrixServiceProtocol: AnyObject {
    // MARK: State

    /// Whether the data shown is up to date.
    var connectionState: MatrixConnectionState { get }

    /// Publishes ``connectionState``, now and whenever it changes.
    var connectionStatePublisher: AnyPublisher<MatrixConnectionState, Never> { get }

    /// The user who is logged in.
    var userId: String? { get }

    /// Called with each message that arrives while syncing, including the user's own, and again when one changes: it is
    /// edited or redacted, or gains or loses a reaction.
    var onMessageReceived: ((MatrixMessage) -> Void)? { get set }

    /// Called with a room when any part of it has changed.
    var onRoomUpdated: ((MatrixRoom) -> Void)? { get set }

    /// Called with a room's id and all users who are typing there, excluding the user, whenever that changes.
    var onTypingIndicator: ((_ roomId: String, _ userIds: [String]) -> Void)? { get set }

    // MARK: Account

    /// Sets the homeserver, and where to keep the account's data. Call it before everything else.
    ///
    /// - Parameters:
    ///   - homeserverURL: The base URL, or the server name of user ids, from which the homeserver is discovered.
    ///   - sessionPath: A folder for this service only. It is created if missing.
    func initialize(homeserverURL: String, sessionPath: String) async throws

    /// Logs in with an access token from elsewhere.
    func login(novaUserId: String, accessToken: String) async throws

    /// Logs in with a password.
    ///
    /// - Parameter username: The user id, or its local part.
    func loginWithPassword(username: String, password: String) async throws

    /// Restores the session that an earlier run left in the session's folder. Needs no network.
    ///
    /// - Returns: False if there is none; log in then.
    func restoreSession() async throws -> Bool

    /// Ends the session, also at the homeserver, and deletes its local data.
    func logout() async throws

    // MARK: Sync

    /// Starts or resumes syncing. Returns after the first sync.
    func startSync() async throws

    /// Stops syncing. Data received so far stays readable.
    func stopSync() async throws

    // MARK: Rooms

    /// Creates a room and joins it.
    ///
    /// - Returns: The room's id.
    func createRoom(name: String?, isDirect: Bool, inviteUserIds: [String], isEncrypted: Bool) async throws -> String

    /// Joins a room, or accepts an invitation.
    ///
    /// - Returns: The room's id.
    func joinRoom(roomIdOrAlias: String) async throws -> String

    /// Leaves a room, or declines an invitation.
    func leaveRoom(roomId: String) async throws

    /// Returns a known room that the user has joined, is invited to or has knocked on.
    func getRoom(roomId: String) async throws -> MatrixRoom?

    /// Returns the joined rooms, the one with the newest message first.
    func getJoinedRooms() async throws -> [MatrixRoom]

    /// Invites a user.
    func inviteUser(roomId: String, userId: String) async throws

    /// Removes a user, who may rejoin if invited.
    func kickUser(roomId: String, userId: String, reason: String?) async throws

    // MARK: Messages

    /// Sends a text message.
    ///
    /// - Parameter content: Markdown; text that starts with `/me ` is an emote.
    /// - Returns: The event's id, once the homeserver has it.
    func sendMessage(roomId: String, content: String) async throws -> String

    /// Uploads a file and sends it as an image, video, audio or file, by its type.
    ///
    /// - Parameter mediaURL: A local file.
    /// - Returns: The event's id, once the homeserver has it.
    func sendMedia(roomId: String, mediaURL: URL, mimeType: String, caption: String?) async throws -> String

    /// Returns messages of a room, oldest first: stored ones, then the homeserver's.
    ///
    /// - Parameters:
    ///   - limit: The maximum number. Fewer are returned at the start of the room, and while the homeserver cannot be
    ///     reached.
    ///   - from: The id of a message; returns those before it. `nil` returns the newest.
    func getRoomMessages(roomId: String, limit: Int, from: String?) async throws -> [MatrixMessage]

    /// Replaces the text of one of the user's messages.
    func editMessage(roomId: String, eventId: String, newContent: String) async throws

    /// Redacts a message.
    func redactMessage(roomId: String, eventId: String, reason: String?) async throws

    /// Notifies the others whether the user is typing.
    func setTyping(roomId: String, isTyping: Bool) async throws

    /// Marks everything in a room as read.
    func markRoomAsRead(roomId: String) async throws

    // MARK: Reactions

    /// Adds a reaction, or removes it if the user has already given it.
    func toggleReaction(roomId: String, eventId: String, emoji: String) async throws

    /// Adds a reaction. Does nothing if the user has already given it.
    func sendReaction(roomId: String, eventId: String, emoji: String) async throws

    /// Returns the reactions to a message, in the order in which they first appeared.
    func getReactions(roomId: String, eventId: String) async throws -> [MatrixReaction]
}

extension MatrixServiceProtocol {
    /// Creates a private room without encryption and joins it.
    public func createRoom(name: String?, inviteUserIds: [String] = []) async throws -> String {
        try await createRoom(name: name, isDirect: false, inviteUserIds: inviteUserIds, isEncrypted: false)
    }

    /// Removes a user without a reason.
    public func kickUser(roomId: String, userId: String) async throws {
        try await kickUser(roomId: roomId, userId: userId, reason: nil)
    }

    /// Sends a file without a caption.
    public func sendMedia(roomId: String, mediaURL: URL, mimeType: String) async throws -> String {
        try await sendMedia(roomId: roomId, mediaURL: mediaURL, mimeType: mimeType, caption: nil)
    }

    /// Returns the newest messages of a room, oldest first.
    public func getRoomMessages(roomId: String, limit: Int = 50) async throws -> [MatrixMessage] {
        try await getRoomMessages(roomId: roomId, limit: limit, from: nil)
    }

    /// Redacts a message without a reason.
    public func redactMessage(roomId: String, eventId: String) async throws {
        try await redactMessage(roomId: roomId, eventId: eventId, reason: nil)
    }
}
