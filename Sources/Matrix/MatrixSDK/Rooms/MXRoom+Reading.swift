import Basics
import MatrixProtocol

/// Reading, typing, tags.
extension MXRoom {
    /// Tells the others that we are typing, or not any more. It holds for `timeout`; repeat it before that.
    ///
    /// - Parameter timeout: Seconds; a value above 1,000 is taken as milliseconds. It is 1 to 120 seconds in
    ///   any case. Nil, and NaN, are 30 seconds.
    public func sendTypingNotification(typing: Bool, timeout: TimeInterval? = nil) async throws {
        let time = timeout.flatMap { Duration.bounded(seconds: $0 > 1000 ? $0 / 1000 : $0) } ?? .seconds(30)
        try await core.rest.sendTypingNotification(
            inRoom: roomId, typing: typing, timeout: min(max(time, .seconds(1)), .seconds(120)))
    }

    /// Marks everything as read that is here. The counts change when the homeserver has taken that: a message that comes
    /// meanwhile stays unread, and after a failure all of them do.
    public func markAllAsRead() async throws {
        let newest = try core.account.store { store throws(MatrixError) in
            try store.events(in: roomId, before: nil, limit: 1).first
        }
        guard let newest else { return }
        try await core.rest.sendReadMarkers(toRoom: roomId, fullyRead: newest.eventId, read: newest.eventId)
        core.tookReceipt(roomId, upTo: newest.eventId)
    }

    /// Marks the room as unread for one's own clients, whatever was read in it, or takes that back (`m.marked_unread`).
    public func setMarkedUnread(_ isUnread: Bool) async throws {
        try await core.rest.setRoomAccountData(["unread": isUnread], inRoom: roomId, ofType: "m.marked_unread")
    }

    /// Tells the others how far we have read.
    ///
    /// - Parameter threadId: `main` or the root of a thread; nil for the whole room.
    public func sendReadReceipt(_ eventId: String, threadId: String? = nil) async throws {
        try await core.rest.sendReadReceipt(toRoom: roomId, forEvent: eventId, threadId: threadId)
        core.tookReceipt(roomId, upTo: eventId, threadId: threadId)
    }

    /// How far users have read.
    public func receipts() throws -> [MXReceipt] {
        try core.account.store { store throws(MatrixError) in try store.receipts(in: roomId) }
    }

    /// Puts the room under a tag such as `m.favourite`.
    ///
    /// - Parameter order: Its place among the rooms with this tag, from 0 to 1.
    public func addTag(_ tag: String, order: Double? = nil) async throws {
        try await core.rest.addTag(tag, order: order, toRoom: roomId)
    }

    /// Takes a tag away.
    public func removeTag(_ tag: String) async throws { try await core.rest.removeTag(tag, fromRoom: roomId) }
}
