import Basics

/// The storage of a session. Calls block. A session makes them from one thread at a time, except for reads, which can
/// come from any thread at any time.
///
/// The session holds no lock during a call. A store can read its session, in its state before the call, and close it,
/// but not change it.
///
/// - Important: ``commit(_:)`` is atomic: after a crash at any moment, either all of it is stored, including its sync
///   token, or nothing.
public protocol MXStore: AnyObject, Sendable {
    /// Whether the store outlives the process.
    var isPermanent: Bool { get }

    /// Opens the store of one account and returns its contents. Called before everything else.
    ///
    /// Discards data of another user or device. Trims timelines that exceed the store's limit, as ``trimTimeline(of:)``
    /// does.
    func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession

    /// Makes all the changes, or throws and makes none. Committing the same changes again has no effect.
    func commit(_ changes: MXStoreChanges) throws(MatrixError)

    /// Returns the current state of a room; empty for an unknown room.
    func state(of roomId: String) throws(MatrixError) -> [MXEvent]

    /// Returns one event of a room's current state. The default implementation searches ``state(of:)``.
    func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError) -> MXEvent?

    /// Returns events of the timeline, newest first.
    ///
    /// - Parameter eventId: Return only events before this one, none if it is unknown; `nil` starts with the newest.
    func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent]

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent?

    /// Returns those of `eventIds` that are in the room's timeline.
    func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String]

    /// Returns events of the timeline whose `m.relates_to` names this event: edits, reactions, threads; oldest first.
    func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent]

    /// Returns the relations of those events that have any. The default implementation queries one at a time.
    func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]>

    /// Returns the users' read receipts, in no particular order.
    func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt]

    /// Returns the read receipts of one user. The default implementation searches ``receipts(in:)``.
    func receipts(in roomId: String, of userId: String) throws(MatrixError) -> [MXReceipt]

    /// Discards a room's oldest events if they exceed the store's limit.
    ///
    /// Cuts the timeline where the server's history can be resumed: at an event that was committed with a token
    /// (``MXStoreChanges/Room/timelineToken``, ``MXStoreChanges/Room/olderToken``). Without one, the timeline is
    /// unchanged, so there is never a hole. The new token becomes the pagination token of the stored summary; the
    /// caller updates its own. Call this only while no timeline of the room is being paginated.
    ///
    /// - Returns: The new pagination token; `nil` if nothing was trimmed.
    func trimTimeline(of roomId: String) throws(MatrixError) -> String?

    /// Releases the account's files. Afterwards, all calls fail except ``deleteAllData()`` and opening the store again.
    func close()

    /// Deletes all data of the open account, including its files, and closes the store.
    func deleteAllData() throws(MatrixError)
}

extension MXStore {
    /// Returns one event of a room's current state.
    public func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError)
        -> MXEvent?
    {
        try state(of: roomId).first { $0.wireType == type && $0.stateKey?.isExactly(key) == true }
    }

    /// Returns the relations of several events.
    public func relations(toEach eventIds: [String], in roomId: String) throws(MatrixError) -> MXDictionary<[MXEvent]> {
        var relations = MXDictionary<[MXEvent]>()
        for id in eventIds {
            let events = try self.relations(to: id, in: roomId)
            if !events.isEmpty { relations[id] = events }
        }
        return relations
    }

    /// Returns the read receipts of one user.
    public func receipts(in roomId: String, of userId: String) throws(MatrixError) -> [MXReceipt] {
        try receipts(in: roomId).filter { $0.userId.isExactly(userId) }
    }
}

/// The contents of a store at the start. Timelines and states are loaded later, room by room.
public struct MXStoredSession: Sendable {
    /// The token of the last sync; `nil` if there was none.
    public var syncToken: String?
    /// The summaries of the rooms, in no particular order.
    public var summaries: [MXRoomSummary] = []
    /// The stripped state of rooms that we are invited to or have knocked on.
    public var strippedStates: MXDictionary<[MXEvent]> = [:]
    /// Global account data: one event of each type, without a sender.
    public var accountData: [MXEvent] = []
    /// The account data of rooms.
    public var roomAccountData: MXDictionary<[MXEvent]> = [:]
    /// The presence of users.
    public var presence: [MXEvent] = []
    /// Our own messages that no sync has returned yet, oldest first.
    public var outgoing: [MXOutgoingEvent] = []
    /// The stored messages to this device that may not have been delivered, oldest first.
    public var toDevice: [MXToDeviceMessage] = []
    /// Why an older store was discarded, or what happened to the keys of a damaged one; `nil` if all is well. For
    /// people.
    public var rebuildReason: String?

    /// Creates the contents of an empty store.
    public init() {}
}

/// Changes to commit together.
public struct MXStoreChanges: Sendable {
    /// The changes of one room, applied in the order of these properties.
    public struct Room: Sendable {
        /// Removes everything stored for the room, including unsent messages.
        public var isRemoved = false
        /// Removes the stored timeline, because there is a gap between it and ``timeline``.
        public var dropsTimeline = false
        /// Removes the stored state; ``state`` is complete.
        public var replacesState = false
        /// New events at the live end, oldest first. Events already in the timeline are skipped.
        public var timeline: [MXEvent] = []
        /// Where the server's history continues before the first event of ``timeline``: `prev_batch` of a sync, even if
        /// it is not limited. The timeline can be trimmed there later.
        public var timelineToken: String?
        /// Events older than all stored ones, newest first. Events already in the timeline are skipped.
        public var older: [MXEvent] = []
        /// Where the server's history continues before the last event of ``older``. The timeline can be trimmed there
        /// later.
        public var olderToken: String?
        /// Changed events of the timeline (after a redaction), which replace those with the same ids.
        public var replaced: [MXEvent] = []
        /// State events, which replace those with the same type and state key.
        public var state: [MXEvent] = []
        /// The complete stripped state; `nil` leaves it unchanged, empty removes it.
        public var strippedState: [MXEvent]?
        /// The new summary.
        public var summary: MXRoomSummary?
        /// Account data, which replaces that with the same type.
        public var accountData: [MXEvent] = []
        /// Receipts, which replace those of the same user, type and thread.
        public var receipts: [MXReceipt] = []

        /// Creates an empty set of changes.
        public init() {}
    }

    /// Removes everything stored first, except messages to this device; ``outgoing`` then holds the messages still to
    /// be sent.
    public var replacesEverything = false
    /// Keeps the answer in one piece, because most of it stays in memory: events need no bytes of their own.
    package var keepsAnswer = false
    /// The changes of rooms, by room id.
    public var rooms: MXDictionary<Room> = [:]
    /// Global account data, which replaces that with the same type.
    public var accountData: [MXEvent] = []
    /// Presence, which replaces that of the same sender.
    public var presence: [MXEvent] = []
    /// Messages to add or update, by transaction id.
    public var outgoing: [MXOutgoingEvent] = []
    /// The transaction ids of messages that are no longer pending.
    public var sentOutgoing: [String] = []
    /// New messages to this device, in order. The server never repeats them, so they are kept until ``toldToDevice``
    /// names them. Messages with known ids are skipped.
    public var toDevice: [MXToDeviceMessage] = []
    /// The ids of messages to this device that were delivered to the application and can be removed.
    public var toldToDevice: [String] = []
    /// The changes of keys and related data, for stores that keep them.
    package var encryption = EncryptionChanges()
    /// The position in the stream after these changes; `nil` leaves it unchanged.
    public var syncToken: String?

    /// Creates an empty set of changes.
    public init() {}

    /// Whether there are no changes.
    public var isEmpty: Bool {
        !replacesEverything && rooms.isEmpty && accountData.isEmpty && presence.isEmpty && outgoing.isEmpty
            && sentOutgoing.isEmpty && toDevice.isEmpty && toldToDevice.isEmpty && encryption.isEmpty
            && syncToken == nil
    }
}

/// A message to this device.
public struct MXToDeviceMessage: Sendable, Equatable {
    /// An id created locally, since the server assigns none: the answer to a sync and the position in it.
    public let id: String
    /// The message's event.
    public let event: MXEvent

    /// Creates a message.
    public init(id: String, event: MXEvent) {
        (self.id, self.event) = (id, event)
    }
}

/// A user's read receipt for a room or a thread.
public struct MXReceipt: Sendable, Hashable, Codable {
    /// The user who has read.
    public let userId: String
    /// The newest event read.
    public let eventId: String
    /// `m.read`, or `m.read.private` for one that only we can see.
    public let type: String
    /// `main`, the root of a thread, or `nil` for the whole room.
    public let threadId: String?
    /// The time in milliseconds since 1970.
    public let ts: UInt64

    /// Creates a receipt; by default, a public one for the whole room.
    public init(userId: String, eventId: String, type: String = "m.read", threadId: String? = nil, ts: UInt64 = 0) {
        (self.userId, self.eventId, self.type, self.threadId, self.ts) = (userId, eventId, type, threadId, ts)
    }
}

/// One of our own messages that no sync has returned yet.
public struct MXOutgoingEvent: Sendable, Hashable, Codable {
    /// The id for retries and restarts. The server treats a repeat with the same id as the same message.
    public let transactionId: String
    /// The room to send to.
    public let roomId: String
    /// The event's type.
    public let type: String
    /// The content as JSON text.
    public var content: String
    /// A local id, starting with ``MXEvent/localEventIdPrefix``.
    public let localEventId: String
    /// The time of creation in milliseconds since 1970.
    public let ts: UInt64
    /// The content of the `m.room.encrypted` event to send, as JSON text; `nil` until it is encrypted. Retries send the
    /// same bytes: each step of a ratchet can be used for only one message.
    public package(set) var encryptedContent: String?
    /// The message's progress.
    public var state: MXEvent.SentState
    /// The reason why sending failed, in words.
    public var failure: String?
    /// The server's id; `nil` until the server has answered.
    public var eventId: String?
    /// Whether a gap in the room's timeline occurred while the message was pending. If it is in the gap, no sync
    /// returns it.
    public package(set) var hasMetGap: Bool {
        get { gap ?? false }
        set { gap = newValue ? true : nil }
    }
    /// The type that the server sees.
    package var sentType: String { encryptedContent == nil ? type : MXEvent.encryptedType }
    /// The content that the server sees, as JSON text.
    package var sentContent: String { encryptedContent ?? content }
    /// `nil` if stored by an older version.
    private var gap: Bool?

    /// Creates a message. The transaction id must be unused.
    public init(
        transactionId: String, roomId: String, type: String, content: String, localEventId: String, ts: UInt64,
        state: MXEvent.SentState, failure: String? = nil
    ) {
        (self.transactionId, self.roomId, self.type, self.content) = (transactionId, roomId, type, content)
        (self.localEventId, self.ts, self.state, self.failure) = (localEventId, ts, state, failure)
    }
}
