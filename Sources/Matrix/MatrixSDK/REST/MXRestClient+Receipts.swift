import Basics
import MatrixProtocol

extension MXRestClient {
    /// Says how far the user has read.
    ///
    /// - Parameters:
    ///   - threadId: A thread's root, or `main`; nil is the whole room.
    ///   - isPrivate: Whether others are not to see it.
    public func sendReadReceipt(
        toRoom roomId: String, forEvent eventId: String, threadId: String? = nil, isPrivate: Bool = false
    ) async throws {
        try await perform(
            APICall(
                .post, "v3/rooms/\(roomId)/receipt/\(isPrivate ? "m.read.private" : "m.read")/\(eventId)",
                json: ["thread_id": threadId]))
    }

    /// Sets the markers of how far the user has read; nil leaves one alone.
    public func sendReadMarkers(
        toRoom roomId: String, fullyRead: String? = nil, read: String? = nil, privateRead: String? = nil
    ) async throws {
        try await perform(
            APICall(
                .post, "v3/rooms/\(roomId)/read_markers",
                json: ["m.fully_read": fullyRead, "m.read": read, "m.read.private": privateRead]))
    }

    /// Says that the user is typing, or has stopped.
    ///
    /// - Parameter timeout: How long that holds unless said again.
    public func sendTypingNotification(inRoom roomId: String, typing: Bool, timeout: Duration = .seconds(30))
        async throws
    {
        let milliseconds = Int(max(timeout.bounded.wholeNanoseconds / 1_000_000, 1))
        try await perform(
            APICall(
                .put, "v3/rooms/\(roomId)/typing/\(try userId())",
                json: ["typing": typing, "timeout": typing ? milliseconds : nil]))
    }

    // MARK: Presence

    /// Says how the user is there.
    public func setPresence(_ presence: MXPresence, statusMessage: String? = nil) async throws {
        guard presence != .unknown else {
            throw MatrixError(.invalidArgument, "a presence must be known to be set; nothing was sent")
        }
        try await perform(
            APICall(
                .put, "v3/presence/\(try userId())/status",
                json: ["presence": presence.rawValue, "status_msg": statusMessage]))
    }

    /// How a user is there.
    public func presence(ofUser userId: String) async throws -> MXPresenceStatus {
        try await value(APICall(.get, "v3/presence/\(userId)/status"))
    }
}

/// What the server knows of a user's presence.
public struct MXPresenceStatus: Sendable, Hashable, Codable {
    /// `online`, `unavailable` or `offline`.
    public let presence: String
    /// In the user's words.
    public let statusMessage: String?
    /// Milliseconds since the user did something.
    public let lastActiveAgo: Int?
    /// Whether the user is doing something now.
    public let isCurrentlyActive: Bool?

    enum CodingKeys: String, CodingKey {
        case presence
        case statusMessage = "status_msg"
        case lastActiveAgo = "last_active_ago"
        case isCurrentlyActive = "currently_active"
    }
}
