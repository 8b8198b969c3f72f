import Foundation
import MatrixSDK

/// The filter and order of a list of rooms.
struct RoomListQuery {
    let filter: MXRoomListDataFilterOptions
    let sort: MXRoomListDataSortOptions

    func run(on rooms: [ListedRoom]) -> [ListedRoom] {
        rooms.filter(includes).sorted { isBefore($0, $1) }
    }

    private func includes(_ room: ListedRoom) -> Bool {
        let types = room.summary.dataTypes
        guard types.isDisjoint(with: filter.notDataTypes) else { return false }
        if !filter.dataTypes.isEmpty {
            let found = types.intersection(filter.dataTypes)
            guard filter.strictMatches ? found == filter.dataTypes : !found.isEmpty else { return false }
        }
        guard filter.showAllRoomsInHomeSpace || !room.isInSpace || !types.isDisjoint(with: [.direct, .favorited]) else {
            return false
        }
        guard let query = filter.query, !query.isEmpty else { return true }
        return room.summary.displayName.range(of: query, options: [.caseInsensitive, .diacriticInsensitive]) != nil
    }

    private func isBefore(_ one: ListedRoom, _ other: ListedRoom) -> Bool {
        let (left, right) = (one.summary, other.summary)
        if sort.alphabetical {
            let order = left.displayName.localizedStandardCompare(right.displayName)
            if order != .orderedSame { return order == .orderedAscending }
        }
        /// Whether the criterion puts the left room first; `nil` if it holds for both or neither.
        func first(_ isOn: Bool, _ left: Bool, _ right: Bool) -> Bool? { isOn && left != right ? left : nil }
        let claims = [
            first(sort.invitesFirst, left.membership == .invite, right.membership == .invite),
            first(sort.sentStatus, one.hasUnsentMessages, other.hasUnsentMessages),
            first(sort.missedNotificationsFirst, left.hasAnyHighlight, right.hasAnyHighlight),
            first(sort.missedNotificationsFirst, left.hasAnyNotification, right.hasAnyNotification),
            first(sort.unreadMessagesFirst, left.hasAnyUnread, right.hasAnyUnread),
            first(sort.lastEventDate, left.isNewer(than: right), right.isNewer(than: left)),
            first(sort.favoriteTag, left.isFavorite(before: right), right.isFavorite(before: left)),
        ]
        return claims.lazy.compactMap { $0 }.first ?? (left.roomId < right.roomId)
    }
}

extension MXRoomSummary {
    fileprivate func isNewer(than other: MXRoomSummary) -> Bool { lastMessageTs > other.lastMessageTs }

    /// Favourites without an order come after those with one.
    fileprivate func isFavorite(before other: MXRoomSummary) -> Bool {
        guard let order = tags["m.favourite"] else { return false }
        guard let otherOrder = other.tags["m.favourite"] else { return true }
        return (order ?? .infinity) < (otherOrder ?? .infinity)
    }
}
