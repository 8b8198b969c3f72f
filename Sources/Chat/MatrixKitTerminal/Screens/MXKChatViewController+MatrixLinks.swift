import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// The parts of `matrix.to` links and `matrix:` URIs that ``MatrixKit/MXKText/Pill`` does not cover.
enum MatrixLink {
    /// As many as a homeserver needs to find a room.
    private static let maximumServers = 5

    /// Returns the servers through which the room can be joined.
    static func servers(_ url: URL) -> [String] {
        guard let query = url.absoluteString.split(separator: "?", maxSplits: 1).dropFirst().first else { return [] }
        let servers = query.split(separator: "&").filter { $0.hasPrefix("via=") }.compactMap { field in
            String(field.dropFirst(4)).removingPercentEncoding
        }
        return Array(servers.filter { !$0.isEmpty }.prefix(maximumServers))
    }
}

/// Links to users, rooms and events.
extension MXKChatViewController {
    func open(_ target: MXKText.Pill, via servers: [String]) {
        guard let session = currentSession else { return }
        switch target {
        case .user(let userId): showUser(userId, session)
        case .room(let name): find(name, eventId: nil, via: servers, session)
        case .event(let name, let eventId): find(name, eventId: eventId, via: servers, session)
        }
    }

    private func showUser(_ userId: String, _ session: MXSession) {
        if let member = currentRoom?.state?.members.member(withUserId: userId) {
            return roomMemberListViewController(members, didSelectMember: member)
        }
        confirm("Open a chat with \(userId)?", ["A new one is made if there is none."], action: "Open") {
            [weak self] in self?.openDirect(userId, session)
        }
    }

    /// Finds a room, also one that is known by another alias.
    private func find(_ name: String, eventId: String?, via servers: [String], _ session: MXSession) {
        if let known = known(name, session) { return show(known, eventId: eventId, session) }
        guard name.hasPrefix("#") else { return askToJoin(name, eventId: eventId, via: servers, session) }
        perform("\(name) was not found") { [weak self] in
            let found = try await session.matrixRestClient.resolveRoomAlias(name)
            guard let self else { return }
            if let known = self.known(found.roomId, session) {
                self.show(known, eventId: eventId, session)
            } else {
                self.askToJoin(name, eventId: eventId, via: servers, session)
            }
        }
    }

    private func known(_ name: String, _ session: MXSession) -> MXRoom? {
        let found = name.hasPrefix("#") ? session.room(withAlias: name) : session.room(withRoomId: name)
        guard let found, let summary = found.summary else { return nil }
        switch summary.membership {
        case .join, .invite: return found
        default: return nil
        }
    }

    private func show(_ known: MXRoom, eventId: String?, _ session: MXSession) {
        guard let eventId, known.summary.membership == .join else { return choose(known.roomId, in: session) }
        open(eventId, of: known.roomId, in: session)
    }

    private func askToJoin(_ name: String, eventId: String?, via servers: [String], _ session: MXSession) {
        let through = servers.isEmpty ? [] : ["Through \(servers.joined(separator: ", "))"]
        confirm("Join \(name)?", ["You are not in this room."] + through, action: "Join") { [weak self] in
            self?.perform("\(name) was not joined") {
                let joined = try await session.joinRoom(name, viaServers: servers.isEmpty ? nil : servers)
                self?.open(joined.roomId, in: session)
                if let eventId { self?.open(eventId, of: joined.roomId, in: session) }
            }
        }
    }
}
