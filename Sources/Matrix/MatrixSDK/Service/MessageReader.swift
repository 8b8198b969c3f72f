import Basics
import MatrixProtocol

/// Finds a room's messages among its events: first in the store, then at the homeserver.
struct MessageReader: Sendable {
    let room: MXRoom

    /// The maximum number of pages searched in one call; a room may have long stretches without messages.
    private static let pages = 100
    private static let pageSize = 50

    private var core: SessionCore { room.core }

    /// - Parameter eventId: Only return messages before this one; `nil` starts at the newest, including pending ones.
    /// - Returns: The messages, oldest first.
    @concurrent
    func messages(limit: Int, before eventId: String?) async throws -> [MatrixMessage] {
        guard limit > 0 else { return [] }
        let outgoing = eventId == nil ? room.outgoingMessages.filter(\.isMessage).suffix(limit) : []
        // A pending message comes after everything in the store.
        let position = eventId.flatMap { $0.hasPrefix(MXEvent.localEventIdPrefix) ? nil : $0 }
        let events = try await events(limit: limit - outgoing.count, before: position)
        // A sync may have brought one of them in the meantime.
        let waiting = outgoing.filter { echo in
            !events.contains { $0.eventId == echo.eventId || $0.transactionId == echo.transactionId }
        }
        let votes = try await votes(in: events)
        return (events.reversed() + waiting).compactMap { MatrixMessage($0, in: room, votes: votes[$0.eventId]) }
    }

    /// Returns the votes on polls that are not stored. A poll has no results if the homeserver cannot be reached.
    private func votes(in events: [MXEvent]) async throws -> [String: [MXEvent]] {
        var votes: [String: [MXEvent]] = [:]
        for poll in events where poll.pollPart == .start && !poll.isRedacted {
            guard try stored(poll.eventId) == nil else { continue }
            do {
                votes[poll.eventId] = try await core.rest.votes(onPoll: poll.eventId, inRoom: room.roomId)
            } catch  where !error.isCancellation {}
        }
        return votes
    }

    /// Returns the events, newest first. An unreachable homeserver is an error only if there is nothing without it.
    private func events(limit: Int, before eventId: String?) async throws -> [MXEvent] {
        var (found, position): ([MXEvent], String?) = ([], eventId)
        do {
            for _ in 0..<Self.pages where found.count < limit {
                // The position may disappear meanwhile: a gap restarts the stored timeline, or it is trimmed.
                if let position, try stored(position) == nil {
                    found += try await eventsOfServer(limit: limit - found.count, before: position)
                    break
                }
                let page = try core.account.store { store throws(MatrixError) in
                    try store.events(in: room.roomId, before: position, limit: Self.pageSize)
                }
                found += page.filter(isShown)
                position = page.last?.eventId ?? position
                guard page.isEmpty else { continue }
                guard core.account.summary(room.roomId)?.paginationToken != nil else { break }
                try await core.loadOlder(room.roomId, limit: Self.pageSize)
            }
        } catch  where !found.isEmpty && !error.isCancellation {}
        return Array(found.prefix(limit))
    }

    /// Returns the events around one that is not in the store. They are not stored, as that would leave a hole.
    private func eventsOfServer(limit: Int, before eventId: String) async throws -> [MXEvent] {
        let context = try await core.rest.contextOfEvent(eventId, inRoom: room.roomId, limit: 2)
        var found = context.eventsBefore
        var token = context.start
        for _ in 0..<Self.pages where found.filter(isShown).count < limit {
            guard let from = token else { break }
            let page = try await core.rest.messages(
                forRoom: room.roomId, from: from, direction: .backwards, limit: Self.pageSize)
            found += page.chunk
            token = page.end
        }
        try core.noteRelations(of: found, in: room.roomId)
        return Array(found.filter(isShown).prefix(limit))
    }

    private func stored(_ eventId: String) throws -> MXEvent? {
        try core.account.event(eventId, in: room.roomId)
    }

    private func isShown(_ event: MXEvent) -> Bool {
        event.isMessage && !isIgnored(event.sender)
    }

    private func isIgnored(_ userId: String) -> Bool {
        core.account.model { $0.ignoredUsers.contains(ByteKey(userId)) } ?? false
    }
}
