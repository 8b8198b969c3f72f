extension MXEvent {
    /// Whether it makes a room unread for a user: something said by another, that is not an edit and was not redacted.
    ///
    /// - Parameter userId: The current user.
    package func countsAsUnread(for userId: String) -> Bool {
        sender != userId && !isState && !isRedacted && Self.isSaying(type) && !isEdit
    }

    /// Whether a list of rooms may show it as the last message of its room.
    ///
    /// - Parameter userId: The current user: of member events only the own joining and being invited count.
    package func isLastMessage(for userId: String) -> Bool {
        guard !isRedacted, !isEdit, threadId == nil else { return false }
        if isState {
            guard type == "m.room.member", stateKey == userId else { return false }
            switch MXMembership(identifier: contentJSON["membership"]?.string) {
            case .join: return prevContent?["membership"]?.string != "join"
            case .invite: return true
            case .leave, .ban, .knock, .unknown: return false
            }
        }
        return Self.isSaying(type)
    }

    private static func isSaying(_ type: String) -> Bool {
        switch type {
        case "m.room.message", "m.room.encrypted", "m.sticker", "m.call.invite", "m.poll.start": true
        default: false
        }
    }
}
