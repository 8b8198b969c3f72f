import Basics
import JSONBytes

extension MXEvent {
    /// Whether its sender says something in it: it is no edit and was not redacted.
    package var saysSomething: Bool { !isState && Self.isSaying(type) && !isRedacted && !isEdit }

    /// Whether it makes a room unread for a user: something that another says.
    ///
    /// - Parameter userId: The current user.
    package func countsAsUnread(for userId: String) -> Bool { saysSomething && sender != userId }

    /// Whether a list of rooms may show it as the last message of its room.
    ///
    /// - Parameter userId: The current user: of member events only the own joining and being invited count.
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
