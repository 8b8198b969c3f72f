import Basics
import MatrixProtocol

extension MXRestClient {
    /// Marks a room as read up to an event.
    ///
    /// - Parameters:
    ///   - threadId: The root of a thread, or `main`; `nil` for the whole room.
    ///   - isPrivate: Whether to hide the receipt from others.
    public func sendReadReceipt(
        toRoom roomId: String, forEvent eventId: String, threadId: String? = nil, isPrivate: Bool = false
    ) async throws {
        try await perform(
            APICall(
                .post, "v3/rooms/\(roomId)/receipt/\(isPrivate ? "m.read.private" : "m.read")/\(eventId)",
                json: ["thread_id": threadId]))
    }

    /// Sets the user's read markers; pass `nil` to leave one unchanged.
    public func sendReadMarkers(
        toRoom roomId: String, fullyRead: String? = nil, read: String? = nil, privateRead: String? = nil
    ) async throws {
        try await perform(
            APICall(
                .post, "v3/rooms/\(roomId)/read_markers",
                json: ["m.fully_read": fullyRead, "m.read": read, "m.read.private": privateRead]))
    }

    /// Reports that the user is typing, or has stopped.
    ///
    /// - Parameter timeout: How long the report is valid unless repeated.
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

    /// Sets the user's presence.
    public func setPresence(_ presence: MXPresence, statusMessage: String? = nil) async throws {
        guard presence != .unknown else {
            throw MatrixError(.invalidArgument, "a presence must be known to be set; nothing was sent")
        }
        try await perform(
            APICall(
                .put, "v3/presence/\(try userId())/status",
                json: ["presence": presence.rawValue, "status_msg": statusMessage]))
    }

    /// Returns a user's presence.
    public func presence(ofUser userId: String) async throws -> MXPresenceStatus {
        try await value(APICall(.get, "v3/presence/\(userId)/status"))
    }
}

/// A user's presence as known to the server.
public struct MXPresenceStatus: Sendable, Hashable, Codable {
    /// The presence: `online`, `unavailable` or `offline`.
    public let presence: String
    /// The user's own status message.
    public let statusMessage: String?
    /// The time since the user was last active, in milliseconds.
    public let lastActiveAgo: Int?
    /// Whether the user is active now.
    public let isCurrentlyActive: Bool?

    enum CodingKeys: String, CodingKey {
        case presence
        case statusMessage = "status_msg"
        case lastActiveAgo = "last_active_ago"
        case isCurrentlyActive = "currently_active"
    }
}
