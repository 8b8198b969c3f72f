public import Foundation
import MatrixProtocol
public import MatrixSDK

/// Which rooms make contacts of their members.
public enum MXKContactManagerMXRoomSource: Int, Sendable {
    /// None.
    case none = 0
    /// Direct chats: the other user.
    case directChats = 1
    /// All that the user is in.
    case all = 2
}

extension Notification.Name {
    /// ``MXKContactManager/matrixContacts`` may be others.
    public static let mxkContactManagerDidUpdateMatrixContacts = Notification.Name(
        "kMXKContactManagerDidUpdateMatrixContactsNotification")
}

/// The users whom the user of the sessions knows from rooms. There is no address book, and nothing is looked up elsewhere.
@MainActor
public final class MXKContactManager {
    private static let sharedManager = MXKContactManager()

    /// The program's.
    public static func shared() -> MXKContactManager { sharedManager }

    /// Which rooms make contacts. Usually direct chats.
    public var contactManagerMXRoomSource = MXKContactManagerMXRoomSource.directChats {
        didSet { if contactManagerMXRoomSource != oldValue { refresh() } }
    }
    /// Users of the rooms that ``contactManagerMXRoomSource`` says, by name.
    public private(set) var matrixContacts: [MXKContact] = []
    /// Users of direct chats, by name.
    public private(set) var directMatrixContacts: [MXKContact] = []
    /// Changes within this time are told together.
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

    /// Shows users whom this session knows.
    public func addMatrixSession(_ mxSession: MXSession) {
        guard !sessions.contains(where: { $0 === mxSession }) else { return }
        let observer = mxSession.observeReports { [weak self] report in
            guard report.changesContacts else { return }
            Task { @MainActor in self?.changed() }
        }
        sources.append(Source(session: mxSession, observer: observer))
        refresh()
    }

    /// Shows them no more.
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

    /// One of the contacts.
    public func contact(withContactID contactID: String) -> MXKContact? {
        (matrixContacts + directMatrixContacts).first { $0.contactID == contactID }
    }

    /// Orders contacts by name, then by id.
    public func sortAlphabeticallyContacts(_ contactsArray: inout [MXKContact]) {
        contactsArray.sort { left, right in
            let order = left.sortingDisplayName.localizedCaseInsensitiveCompare(right.sortingDisplayName)
            return order == .orderedSame ? left.contactID < right.contactID : order == .orderedAscending
        }
    }

    /// Orders contacts so that who was active last is the first, then by name. Nobody knows it of some: they come last.
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

    /// Users whom the homeservers of the sessions know, by name or id; best first.
    ///
    /// - Throws: If none of the homeservers has answered.
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

/// What sessions know of somebody.
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

    /// Each once, and the users themselves not at all.
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
