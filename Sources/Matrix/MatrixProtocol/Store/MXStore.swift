import Basics

/// Where a session keeps what it knows. Calls block; a session makes them from one thread at a time, except for reads, which
/// come from any thread at any time.
///
/// No lock of the session is held meanwhile: a store may look at its session, which is then as it was before the call, and
/// close it. It cannot change it.
///
/// - Important: ``commit(_:)`` is atomic: after a crash at any moment either all or nothing of it is there, its sync token
///   included.
public protocol MXStore: AnyObject, Sendable {
    /// Whether it is still there after the process has ended.
    var isPermanent: Bool { get }

    /// Opens the store of one account, and tells what is in it. Called before everything else.
    ///
    /// What belongs to another user or device is not taken over. Timelines that have grown beyond what the store keeps
    /// are trimmed here, as ``trimTimeline(of:)`` does it.
    func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession

    /// Makes all the changes, or throws and makes none. The same changes committed again change nothing.
    func commit(_ changes: MXStoreChanges) throws(MatrixError)

    /// The current state of a room; nothing for a room that is not there.
    func state(of roomId: String) throws(MatrixError) -> [MXEvent]

    /// One event of a room's current state. By default it is looked for in ``state(of:)``.
    func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError) -> MXEvent?

    /// Events of the timeline, newest first.
    ///
    /// - Parameter eventId: Only those before this one; nil begins with the newest. An unknown one gives nothing.
    func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent]

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent?

    /// Which of `eventIds` the room's timeline has.
    func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String]

    /// Events of the timeline whose `m.relates_to` names this event: edits, reactions, threads; oldest first.
    func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent]

    /// The same for each of several events that has any. By default they are asked for one by one.
    func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]>

    /// Read receipts by users, in no order.
    func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt]

    /// Those of one user. By default they are looked for in ``receipts(in:)``.
    func receipts(in roomId: String, of userId: String) throws(MatrixError) -> [MXReceipt]

    /// Lets a room's oldest events go if the store has more of them than it is to keep.
    ///
    /// The timeline is cut where the server's history can be taken up again, at an event whose commit brought a token
    /// (``MXStoreChanges/Room/timelineToken``, ``MXStoreChanges/Room/olderToken``), and stays as it is without one: there
    /// is never a hole. The stored summary gets the new token as its pagination token; the caller puts it into its own.
    /// To be called while no timeline of the room is being paginated.
    ///
    /// - Returns: The new pagination token; nil if nothing was trimmed.
    func trimTimeline(of roomId: String) throws(MatrixError) -> String?

    /// Lets go of the account's files. Other calls fail afterwards, but for ``deleteAllData()`` and opening it again.
    func close()

    /// Deletes everything of the account that was opened, its files included, and closes the store.
    func deleteAllData() throws(MatrixError)
}

extension MXStore {
    /// One event of a room's current state.
    public func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError)
        -> MXEvent?
    {
        try state(of: roomId).first { $0.wireType == type && $0.stateKey?.isExactly(key) == true }
    }

    /// What relates to each of several events.
    public func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]> {
        var relations = MXDictionary<[MXEvent]>()
        for id in eventIds {
            let events = try self.relations(to: id, in: roomId)
            if !events.isEmpty { relations[id] = events }
        }
        return relations
    }

    /// Read receipts of one user.
    public func receipts(in roomId: String, of userId: String) throws(MatrixError) -> [MXReceipt] {
        try receipts(in: roomId).filter { $0.userId.isExactly(userId) }
    }
}

/// What a store holds at the start. Timelines and states come later, room by room.
public struct MXStoredSession: Sendable {
    /// Nil: nothing was synced yet.
    public var syncToken: String?
    /// Of every room that has one, in no order.
    public var summaries: [MXRoomSummary] = []
    /// Stripped state of rooms that we are invited to or have knocked on.
    public var strippedStates: MXDictionary<[MXEvent]> = [:]
    /// Global account data: one event of each type, without a sender.
    public var accountData: [MXEvent] = []
    /// The same of rooms.
    public var roomAccountData: MXDictionary<[MXEvent]> = [:]
    /// Presence of users.
    public var presence: [MXEvent] = []
    /// Messages of our own that no sync has brought back, oldest first.
    public var outgoing: [MXOutgoingEvent] = []
    /// Messages to this device that were stored, and perhaps not told, oldest first.
    public var toDevice: [MXToDeviceMessage] = []
    /// Why an older store had to be thrown away, and of a damaged one what became of its keys; nil if all is well. For people.
    public var rebuildReason: String?

    /// Of a store in which nothing is.
    public init() {}
}

/// Changes to be committed as one.
public struct MXStoreChanges: Sendable {
    /// Of one room, applied in the order of these properties.
    public struct Room: Sendable {
        /// All that is stored of the room goes, messages to it that have not reached the server included.
        public var isRemoved = false
        /// The stored timeline goes: there is a gap between it and ``timeline``.
        public var dropsTimeline = false
        /// The stored state goes: ``state`` is all of it.
        public var replacesState = false
        /// New events at the live end, oldest first. Those that the timeline has already are passed over.
        public var timeline: [MXEvent] = []
        /// Where the server's history goes on before the first event of ``timeline``: `prev_batch` of a sync, also when it
        /// is not limited. The timeline can be trimmed there later.
        public var timelineToken: String?
        /// Older events than all that is stored, newest first. Those that the timeline has already are passed over.
        public var older: [MXEvent] = []
        /// Where the server's history goes on before the last event of ``older``. The timeline can be trimmed there later.
        public var olderToken: String?
        /// Events of the timeline that have changed (a redaction), to take the place of those with their ids.
        public var replaced: [MXEvent] = []
        /// State events, each in the place of the one with its type and state key.
        public var state: [MXEvent] = []
        /// All of the stripped state; nil leaves it alone, empty removes it.
        public var strippedState: [MXEvent]?
        /// Takes the place of the stored one.
        public var summary: MXRoomSummary?
        /// Each in the place of the one with its type.
        public var accountData: [MXEvent] = []
        /// Each in the place of the one of its user, type and thread.
        public var receipts: [MXReceipt] = []

        /// No changes.
        public init() {}
    }

    /// Everything that is stored goes first, but for messages to this device; ``outgoing`` then holds what is still to be
    /// sent.
    public var replacesEverything = false
    /// What came lives on as one, since most of it is kept in memory: no event needs bytes of its own.
    package var keepsAnswer = false
    /// Changes of rooms, by their ids.
    public var rooms: MXDictionary<Room> = [:]
    /// Global account data, each in the place of the one with its type.
    public var accountData: [MXEvent] = []
    /// Each in the place of the one of its sender.
    public var presence: [MXEvent] = []
    /// Set or updated; by transaction id.
    public var outgoing: [MXOutgoingEvent] = []
    /// Transaction ids of those that are no longer on their way.
    public var sentOutgoing: [String] = []
    /// New messages to this device, in their order: the server never repeats them. Kept until ``toldToDevice`` names them.
    /// Those whose ids are there already are passed over.
    public var toDevice: [MXToDeviceMessage] = []
    /// Ids of messages to this device that the application was told of: they go.
    public var toldToDevice: [String] = []
    /// Keys and what belongs to them, for stores that keep them.
    package var encryption = EncryptionChanges()
    /// The point of the stream that all this leads to; nil leaves the old one.
    public var syncToken: String?

    /// No changes.
    public init() {}

    /// Whether there is nothing to commit.
    public var isEmpty: Bool {
        !replacesEverything && rooms.isEmpty && accountData.isEmpty && presence.isEmpty && outgoing.isEmpty
            && sentOutgoing.isEmpty && toDevice.isEmpty && toldToDevice.isEmpty && encryption.isEmpty
            && syncToken == nil
    }
}

/// A message to this device.
public struct MXToDeviceMessage: Sendable, Equatable {
    /// Made here: the server gives none. It names the answer to a sync, and the place in it.
    public let id: String
    /// What was sent.
    public let event: MXEvent

    /// A message.
    public init(id: String, event: MXEvent) {
        (self.id, self.event) = (id, event)
    }
}

/// How far a user has read a room, or a thread in it.
public struct MXReceipt: Sendable, Hashable, Codable {
    /// Who has read.
    public let userId: String
    /// The newest event that was read.
    public let eventId: String
    /// `m.read`, or `m.read.private` for one that only we see.
    public let type: String
    /// `main`, the root of a thread, or nil for the whole room.
    public let threadId: String?
    /// Milliseconds since 1970.
    public let ts: UInt64

    /// A receipt; by default a public one for the whole room.
    public init(userId: String, eventId: String, type: String = "m.read", threadId: String? = nil, ts: UInt64 = 0) {
        (self.userId, self.eventId, self.type, self.threadId, self.ts) = (userId, eventId, type, threadId, ts)
    }
}

/// A message of our own that no sync has brought back yet.
public struct MXOutgoingEvent: Sendable, Hashable, Codable {
    /// Kept across retries and restarts: the server takes a repeat with it for the same message.
    public let transactionId: String
    /// Where it is to be sent.
    public let roomId: String
    /// The event's type.
    public let type: String
    /// JSON text of the content.
    public var content: String
    /// A local id, starting with ``MXEvent/localEventIdPrefix``.
    public let localEventId: String
    /// Milliseconds since 1970 of its making.
    public let ts: UInt64
    /// JSON text of the `m.room.encrypted` that it is sent as; nil as long as it was not encrypted. It is sent with the same
    /// bytes each time: a ratchet's step is good for one message.
    public package(set) var encryptedContent: String?
    /// How far it has come.
    public var state: MXEvent.SentState
    /// Why it could not be sent, in words.
    public var failure: String?
    /// The server's id; nil until it has answered.
    public var eventId: String?
    /// A part of the room's timeline was left out while this was on its way. It may be in that part, and then no sync
    /// brings it.
    public package(set) var hasMetGap: Bool {
        get { gap ?? false }
        set { gap = newValue ? true : nil }
    }
    /// The type that the server sees.
    package var sentType: String { encryptedContent == nil ? type : MXEvent.encryptedType }
    /// JSON text of the content that the server sees.
    package var sentContent: String { encryptedContent ?? content }
    /// Nil in what older versions have stored.
    private var gap: Bool?

    /// A message with an id that was never used before.
    public init(
        transactionId: String, roomId: String, type: String, content: String, localEventId: String, ts: UInt64,
        state: MXEvent.SentState, failure: String? = nil
    ) {
        (self.transactionId, self.roomId, self.type, self.content) = (transactionId, roomId, type, content)
        (self.localEventId, self.ts, self.state, self.failure) = (localEventId, ts, state, failure)
    }
}
