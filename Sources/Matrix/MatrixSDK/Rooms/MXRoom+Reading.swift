import Basics
import MatrixProtocol

extension MXRoom {
    /// Notifies the others that the user is typing, or has stopped. Valid for `timeout`; repeat it before that.
    ///
    /// - Parameter timeout: Seconds; values above 1,000 are interpreted as milliseconds. Limited to 1 to 120 seconds.
    ///   `nil` and NaN mean 30 seconds.
    public func sendTypingNotification(typing: Bool, timeout: TimeInterval? = nil) async throws {
        let time = timeout.flatMap { Duration.bounded(seconds: $0 > 1000 ? $0 / 1000 : $0) } ?? .seconds(30)
        try await core.rest.sendTypingNotification(
            inRoom: roomId, typing: typing, timeout: min(max(time, .seconds(1)), .seconds(120)))
    }

    /// Marks everything present as read. The counts change when the homeserver has accepted that: a message that
    /// arrives meanwhile stays unread, and after a failure all of them do.
    public func markAllAsRead() async throws {
        let newest = try core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: nil, limit: 1).first
        }
        guard let newest else { return }
        try await core.rest.sendReadMarkers(toRoom: roomId, fullyRead: newest.eventId, read: newest.eventId)
        core.tookReceipt(roomId, upTo: newest.eventId)
    }

    /// Marks the room as unread for the user's own clients, whatever was read in it, or reverts that
    /// (`m.marked_unread`).
    public func setMarkedUnread(_ isUnread: Bool) async throws {
        try await core.rest.setRoomAccountData(["unread": isUnread], inRoom: roomId, ofType: "m.marked_unread")
    }

    /// Notifies the others how far the user has read.
    ///
    /// - Parameter threadId: `main` or the root of a thread; `nil` for the whole room.
    public func sendReadReceipt(_ eventId: String, threadId: String? = nil) async throws {
        try await core.rest.sendReadReceipt(toRoom: roomId, forEvent: eventId, threadId: threadId)
        core.tookReceipt(roomId, upTo: eventId, threadId: threadId)
    }

    /// Returns how far users have read.
    public func receipts() throws -> [MXReceipt] {
        try core.account.store { store throws(MatrixError) in try store.receipts(in: roomId) }
    }

    /// Adds the room to a tag such as `m.favourite`.
    ///
    /// - Parameter order: The room's position among the rooms with this tag, from 0 to 1.
    public func addTag(_ tag: String, order: Double? = nil) async throws {
        try await core.rest.addTag(tag, order: order, toRoom: roomId)
    }

    /// Removes a tag from the room.
    public func removeTag(_ tag: String) async throws { try await core.rest.removeTag(tag, fromRoom: roomId) }
}
