import Basics
import JSONBytes

extension MXEvent {
    /// Whether the event has content to show: it is not an edit and was not redacted.
    package var saysSomething: Bool { !isState && Self.isSaying(type) && !isRedacted && !isEdit }

    /// Returns whether the event makes a room unread for a user: a message from another user.
    ///
    /// - Parameter userId: The current user.
    package func countsAsUnread(for userId: String) -> Bool { saysSomething && sender != userId }

    /// Returns whether a room list may show the event as the room's last message.
    ///
    /// - Parameter userId: The current user. Member events only count if this user joins or is invited.
    package func isLastMessage(for userId: String) -> Bool {
        guard !isState else { return isOwnArrival(userId) && !isRedacted }
        return saysSomething && threadId == nil
    }

    private func isOwnArrival(_ userId: String) -> Bool {
        guard type == "m.room.member", stateKey?.isExactly(userId) == true else { return false }
        switch MXMembership(identifier: contentJSON["membership"]?.string) {
        case .join: return prevContent?["membership"]?.string != "join"
        case .invite: return true
        case .leave, .ban, .knock, .unknown: return false
        }
    }

    private static func isSaying(_ type: String) -> Bool {
        switch type {
        case "m.room.message", "m.room.encrypted", "m.sticker", "m.call.invite", "m.poll.start",
            "org.matrix.msc3381.poll.start":
            true
        default: false
        }
    }
}
