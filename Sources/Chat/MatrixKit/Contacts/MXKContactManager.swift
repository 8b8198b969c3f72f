public import Foundation
import MatrixProtocol
public import MatrixSDK

/// The rooms whose members become contacts.
public enum MXKContactManagerMXRoomSource: Int, Sendable {
    /// No rooms.
    case none = 0
    /// Direct chats: the other user is a contact.
    case directChats = 1
    /// All joined rooms.
    case all = 2
}

extension Notification.Name {
    /// Posted when ``MXKContactManager/matrixContacts`` may have changed.
    public static let mxkContactManagerDidUpdateMatrixContacts = Notification.Name(
        "kMXKContactManagerDidUpdateMatrixContactsNotification")
}

/// The users known from the rooms of the sessions. There is no address book, and nothing is looked up elsewhere.
@MainActor
public final class MXKContactManager {
    private static let sharedManager = MXKContactManager()

    /// The program's contact manager.
    public static func shared() -> MXKContactManager { sharedManager }

    /// The rooms whose members become contacts. The default is direct chats.
    public var contactManagerMXRoomSource = MXKContactManagerMXRoomSource.directChats {
        didSet { if contactManagerMXRoomSource != oldValue { refresh() } }
    }
    /// The users of the rooms selected by ``contactManagerMXRoomSource``, sorted by name.
    public private(set) var matrixContacts: [MXKContact] = []
    /// The users of direct chats, sorted by name.
    public private(set) var directMatrixContacts: [MXKContact] = []
    /// The interval within which changes are reported together.
    var reportInterval = Duration.milliseconds(500)

    private struct Source {
        weak var session: MXSession?
        let observer: UUID
    }

    private var sources: [Source] = []
    private var reading: Task<Void, Never>?
    private var isWaiting = false
    private var needsRefresh = false

    init() {}

    private var sessions: [MXSession] { sources.compactMap(\.session) }

    // MARK: Sessions

    /// Adds the users that this session knows.
    public func addMatrixSession(_ mxSession: MXSession) {
        guard !sessions.contains(where: { $0 === mxSession }) else { return }
        let observer = mxSession.observeReports { [weak self] report in
            guard report.changesContacts else { return }
            Task { @MainActor in self?.changed() }
        }
        sources.append(Source(session: mxSession, observer: observer))
        refresh()
    }

    /// Removes the users of this session.
    public func removeMatrixSession(_ mxSession: MXSession) {
        guard let index = sources.firstIndex(where: { $0.session === mxSession }) else { return }
        mxSession.stopObserving(sources.remove(at: index).observer)
        refresh()
    }

    private func changed() {
        needsRefresh = true
        guard !isWaiting else { return }
        isWaiting = true
        Task { [weak self, reportInterval] in
            try? await Task.sleep(for: reportInterval)
            guard let self else { return }
            self.isWaiting = false
            if self.needsRefresh { self.refresh() }
        }
    }

    private func refresh() {
        needsRefresh = false
        sources.removeAll { $0.session == nil }
        reading?.cancel()
        let (sessions, source) = (sessions, contactManagerMXRoomSource)
        reading = Task { [weak self] in
            let direct = await KnownUser.direct(sessions)
            let shown: [KnownUser] =
                switch source {
                case .none: []
                case .directChats: direct
                case .all: await KnownUser.all(sessions)
                }
            guard let self, !Task.isCancelled else { return }
            self.update(direct: direct, shown: shown)
        }
    }

    private func update(direct: [KnownUser], shown: [KnownUser]) {
        directMatrixContacts = contacts(direct)
        matrixContacts = contacts(shown)
        NotificationCenter.default.post(name: .mxkContactManagerDidUpdateMatrixContacts, object: self)
    }

    private func contacts(_ users: [KnownUser]) -> [MXKContact] {
        var contacts = users.map {
            MXKContact(matrixContactWithDisplayName: $0.name ?? "", matrixID: $0.id, andMatrixAvatarURL: $0.avatar)
        }
        sortAlphabeticallyContacts(&contacts)
        return contacts
    }

    // MARK: Finding

    /// Returns the contact with this id.
    public func contact(withContactID contactID: String) -> MXKContact? {
        (matrixContacts + directMatrixContacts).first { $0.contactID == contactID }
    }

    /// Sorts contacts by name, then by id.
    public func sortAlphabeticallyContacts(_ contactsArray: inout [MXKContact]) {
        contactsArray.sort { left, right in
            let order = left.sortingDisplayName.localizedCaseInsensitiveCompare(right.sortingDisplayName)
            return order == .orderedSame ? left.contactID < right.contactID : order == .orderedAscending
        }
    }

    /// Sorts contacts by last activity, most recent first, then by name. Contacts whose activity is unknown come last.
    public func sortContacts(byLastActiveInformation contactsArray: inout [MXKContact]) {
        sortAlphabeticallyContacts(&contactsArray)
        let now = ContinuousClock.now
        let ages = contactsArray.map { contact in
            contact.matrixIdentifiers.flatMap { id in
                sessions.compactMap { $0.user(withUserId: id)?.lastActiveAgo(at: now) }
            }.min()
        }
        let order = contactsArray.indices.sorted { left, right in
            switch (ages[left], ages[right]) {
            case (let one?, let other?) where one != other: one < other
            case (_?, nil): true
            case (nil, _?): false
            case (_?, _?), (nil, nil): left < right
            }
        }
        contactsArray = order.map { contactsArray[$0] }
    }

    /// Searches the homeservers of the sessions for users by name or id, best match first.
    ///
    /// - Throws: If no homeserver answered.
    public func searchDirectory(_ term: String, limit: Int) async throws -> [MXKContact] {
        var (found, failure): ([MXKContact], (any Error)?) = ([], nil)
        var ids: Set<String> = []
        var answers = 0
        for session in sessions {
            do {
                for user in try await session.matrixRestClient.searchUsers(term, limit: limit).results
                where ids.insert(user.userId).inserted {
                    found.append(
                        MXKContact(
                            matrixContactWithDisplayName: user.displayName ?? "", matrixID: user.userId,
                            andMatrixAvatarURL: user.avatarUrl))
                }
                answers += 1
            } catch {
                failure = error
            }
        }
        if answers == 0, let failure { throw failure }
        return Array(found.prefix(max(0, limit)))
    }
}

/// A user as known to the sessions.
private struct KnownUser: Sendable {
    let id: String
    let name: String?
    let avatar: String?

    @concurrent
    static func direct(_ sessions: [MXSession]) async -> [KnownUser] {
        unique(sessions) { session in
            session.directRooms.map { id, rooms in
                let user = session.user(withUserId: id)
                let member = rooms.lazy.compactMap {
                    session.room(withRoomId: $0)?.state?.members.member(withUserId: id)
                }.first
                return KnownUser(
                    id: id, name: member?.displayname ?? user?.displayname, avatar: member?.avatarUrl ?? user?.avatarUrl
                )
            }
        }
    }

    @concurrent
    static func all(_ sessions: [MXSession]) async -> [KnownUser] {
        unique(sessions) { session in
            session.rooms.filter { $0.summary.membership == .join }.flatMap { room in
                (room.state?.members.members ?? []).filter { $0.membership == .join || $0.membership == .invite }.map {
                    KnownUser(id: $0.userId, name: $0.displayname, avatar: $0.avatarUrl)
                }
            }
        }
    }

    /// Returns each known user once, without the sessions' own users.
    private static func unique(_ sessions: [MXSession], _ users: (MXSession) -> [KnownUser]) -> [KnownUser] {
        var known: [String: KnownUser] = [:]
        for session in sessions {
            for user in users(session) where user.id != session.myUserId {
                if known[user.id]?.name == nil { known[user.id] = user }
            }
        }
        return Array(known.values)
    }
}

extension SessionReport {
    fileprivate var changesContacts: Bool {
        switch self {
        case .stateChanged: true
        case .failed, .sendingChanged: false
        case .notices(let notices):
            notices.contains { notice in
                switch notice {
                case .joined, .left, .directRoomsChanged, .gap: true
                case .live(let live): live.event.type == "m.room.member"
                case .invited, .knocked, .ephemeral, .roomAccountData, .accountData, .presence, .toDevice, .changed,
                    .decrypted, .encryption, .relationsChanged, .echoConfirmed, .unreadChanged, .summaryChanged,
                    .ignoredUsersChanged:
                    false
                }
            }
        }
    }
}
