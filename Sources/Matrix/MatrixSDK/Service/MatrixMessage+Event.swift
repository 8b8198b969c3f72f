import Basics
import Foundation
import MatrixProtocol

extension MatrixMessage {
    /// Creates a message from an event, with its last edit and its reactions.
    ///
    /// - Parameter votes: The events that refer to a poll; `nil` reads them from the store.
    /// - Returns: `nil` for events that are not messages: state, reactions, edits, votes.
    init?(_ event: MXEvent, in room: MXRoom, votes: [MXEvent]? = nil) {
        guard event.isMessage else { return nil }
        let shown = room.edited(event)
        let userId = room.core.userId
        let member = room.knownMember(event.sender)
        var content = MatrixMessageContent(shown)
        if case .poll(var poll) = content {
            if let votes = votes ?? room.storedVotes(event.eventId) { room.count(votes, of: event, in: &poll) }
            content = .poll(poll)
        }
        self.init(
            id: event.eventId, roomId: room.roomId,
            sender: MatrixUser(id: event.sender, displayName: member?.displayname, avatarURL: member?.avatarUrl),
            content: content, timestamp: event.date, isOwn: event.sender == userId, isEdited: shown.isEdited,
            replyToId: event.replyToEventId, threadId: event.threadId,
            reactions: event.isRedacted ? [] : MatrixReaction.all(of: event.eventId, in: room),
            sendStatus: SendStatus(event))
    }
}

extension MXRoom {
    /// Returns the votes on a stored poll: all of them came after it. Returns `nil` for a poll that is not stored, some
    /// of whose votes are unknown.
    fileprivate func storedVotes(_ pollId: String) -> [MXEvent]? {
        guard storedEvent(pollId) != nil else { return nil }
        return try? core.account.store { store throws(MatrixError) in try store.relations(to: pollId, in: roomId) }
    }

    fileprivate func count(_ votes: [MXEvent], of start: MXEvent, in poll: inout MatrixPoll) {
        let ignored = core.account.model { $0.ignoredUsers } ?? []
        let levels = state?.powerLevels
        poll.count(
            votes.filter { !ignored.contains(ByteKey($0.sender)) }, sender: start.sender, currentUser: core.userId
        ) { levels?.mayEndPolls($0) ?? false }
    }
}

extension MatrixMessage.SendStatus {
    init(_ event: MXEvent) {
        switch event.sentState {
        case .sent: self = .sent
        case .preparing, .encrypting, .uploading, .sending: self = .sending
        case .failed: self = .failed(event.sentFailure ?? "it could not be sent")
        }
    }
}

extension MatrixReaction {
    /// Returns the known reactions to an event, in the order in which they first appeared.
    static func all(of eventId: String, in room: MXRoom) -> [MatrixReaction] {
        let summaries = room.aggregations(forEvent: eventId)?.reactions ?? [:]
        return summaries.values.sorted { ($0.originServerTs, $0.reaction) < ($1.originServerTs, $1.reaction) }.map {
            MatrixReaction(emoji: $0.reaction, userIds: $0.senders, count: $0.count, isOwn: $0.containsCurrentUser)
        }
    }
}

extension MatrixRoom {
    /// Reads the store.
    init(_ room: MXRoom) {
        self.init(room.summary, lastMessage: room.lastMessage.flatMap { MatrixMessage($0, in: room) })
    }

    /// Returns the joined rooms, the one with the newest message first.
    @concurrent
    static func joined(in session: MXSession) async -> [MatrixRoom] {
        let rooms = session.rooms.map { ($0, $0.summary.lastMessageTs) }
        return rooms.sorted { ($0.1, $1.0.roomId) > ($1.1, $0.0.roomId) }.map { MatrixRoom($0.0) }
    }

    @concurrent
    static func read(_ room: MXRoom) async -> MatrixRoom { MatrixRoom(room) }
}
