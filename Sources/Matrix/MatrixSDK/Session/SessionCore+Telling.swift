import Basics
import Dispatch
import Logging
import MatrixEncryption
import MatrixProtocol
import PeerLog
import Realtime

/// What a session tells who observes it.
package enum SessionReport: Sendable {
    case notices([SessionNotice])
    case stateChanged
    /// A message of our own is on its way, has arrived, has failed, or is not to be sent any more.
    case sendingChanged(roomId: String)
    /// - Parameter retryAfter: Nil: it is not tried again.
    case failed(any Error, retryAfter: Duration?)
}

/// Tells the application: listeners, notifications and the delegate on the completion queue; bindings of a ``Pusher`` client
/// at once.
extension SessionCore {
    /// - Parameters:
    ///   - rooms: As the application held them at that time, also those that are left.
    ///   - isSync: An answer to a sync has led to it.
    func tell(_ notices: [SessionNotice], rooms: [String: MXRoom] = [:], isSync: Bool = false) {
        handOver(notices)
        onQueue { core in
            for notice in notices { core.deliver(notice, rooms) }
            core.report(.notices(notices))
            core.account.noteTold(
                notices.compactMap { if case .toDevice(let message) = $0 { message.id } else { nil } })
            if isSync { core.post(.mxSessionDidSync) }
        }
        // Who has waited for it is told after it.
        endWaits()
    }

    /// For one who wants to hear everything, on the completion queue.
    ///
    /// - Returns: What ``removeObserver(_:)`` takes.
    @discardableResult
    func observeReports(_ observer: @escaping @Sendable (SessionReport) -> Void) -> UUID {
        let id = UUID()
        state.withLock { $0.audience.observers[id] = observer }
        return id
    }

    func removeObserver(_ id: UUID) {
        _ = state.withLock { $0.audience.observers.removeValue(forKey: id) }  // let go of after the lock
    }

    func report(_ report: SessionReport) {
        for observer in state.withLock({ Array($0.audience.observers.values) }) { observer(report) }
    }

    /// On the completion queue, in the same line as the answers to calls.
    func onQueue(_ body: @escaping @Sendable (SessionCore) -> Void) {
        rest.completions.add { [weak self] in
            if let self { body(self) }
        }
    }

    /// - Parameter body: Is called on the main thread: the delegate's methods say so.
    func withDelegate(_ body: @escaping @Sendable @MainActor (any MXSessionDelegate) -> Void) {
        let slot = state.withLock { $0.audience.delegate }
        DispatchQueue.main.async {
            MainActor.assumeIsolated {
                if let delegate = slot?.delegate { body(delegate) } else { self.missDelegate() }
            }
        }
    }

    @MainActor
    func setDelegate(_ delegate: (any MXSessionDelegate)?) {
        state.withLock { $0.audience.delegate = delegate.map { WeakDelegate(delegate: $0) } }
        // Behind what the main actor does now: with that ends an object that nobody else keeps.
        DispatchQueue.main.async { [weak self] in
            MainActor.assumeIsolated { self?.missDelegate() }
        }
    }

    /// Warns if a delegate was set and is gone.
    @MainActor
    private func missDelegate() {
        let (_, isGone) = state.withLock { state -> ((any MXSessionDelegate)?, Bool) in
            guard let slot = state.audience.delegate else { return (nil, false) }
            let delegate = slot.delegate
            if delegate == nil { state.audience.delegate = nil }
            return (delegate, delegate == nil)  // released after the lock
        }
        if isGone { warnOfGoneDelegate() }
    }

    func warnOfGoneDelegate() {
        // Programs that were written for the iOS SDK set no logger, and would never learn of it.
        (options.logger ?? Logger(label: "matrix")).report(
            .warning, "a delegate is gone and hears nothing: it is held weakly, so keep a reference to it")
    }

    /// Returns when all has been told that there is to tell now.
    func finishTelling() async {
        await withCheckedContinuation { continuation in onQueue { _ in continuation.resume() } }
    }

    /// On the completion queue.
    func post(_ name: Notification.Name, roomId: String? = nil, event: MXEvent? = nil) {
        guard let session = session.withLock({ $0.session }) else { return }
        var userInfo: [AnyHashable: Any] = [:]
        userInfo[kMXSessionNotificationRoomIdKey] = roomId
        userInfo[kMXSessionNotificationEventKey] = event
        NotificationCenter.default.post(name: name, object: session, userInfo: userInfo.isEmpty ? nil : userInfo)
    }

    private func deliver(_ notice: SessionNotice, _ rooms: [String: MXRoom]) {
        // One that was asked for since then is told, too.
        func loadedRoom(_ roomId: String) -> MXRoom? { rooms[roomId] ?? account.knownRoom(roomId) }
        switch notice {
        case .live(let live):
            call(live.event, state: live.state)
            loadedRoom(live.roomId)?.deliver(live.event, state: live.state)
        case .ephemeral(let event), .roomAccountData(let event):
            call(event, state: nil)
            if let roomId = event.roomId { loadedRoom(roomId)?.deliver(event, state: nil) }
        case .presence(let event): call(event, state: nil)
        case .accountData(let event):
            call(event, state: nil)
            post(.mxSessionAccountDataDidChange)
        case .toDevice(let message): post(.mxSessionOnToDeviceEvent, event: message.event)
        case .joined(let roomId): post(.mxSessionNewRoom, roomId: roomId)
        case .invited(let roomId, _), .knocked(let roomId): post(.mxSessionInvitedRoomsDidChange, roomId: roomId)
        case .left(let roomId, let event):
            post(.mxSessionWillLeaveRoom, roomId: roomId)
            if let event { call(event, state: nil) }
            let room = rooms[roomId]
            if let event { room?.deliver(event, state: nil) }
            room?.close()
            post(.mxSessionDidLeaveRoom, roomId: roomId)
        case .gap(let roomId, _):
            for timeline in loadedRoom(roomId)?.timelines ?? [] { timeline.resetPagination() }
            post(.mxRoomDidFlushData, roomId: roomId)
        case .changed: break  // the redaction tells
        case .decrypted(let roomId, let events):
            for live in events {
                call(live.event, state: nil)
                loadedRoom(roomId)?.deliver(live.event, state: nil)
                post(.mxEventDidDecrypt, roomId: roomId, event: live.event)
            }
        case .encryption(let notice): deliver(notice)
        case .relationsChanged(let roomId, let eventId): loadedRoom(roomId)?.relationsChanged(of: eventId)
        case .echoConfirmed(let roomId, let local, let eventId):
            loadedRoom(roomId)?.echoConfirmed(local, as: eventId)
        case .unreadChanged: break  // the summary tells
        case .summaryChanged(let roomId): post(.mxRoomSummaryDidChange, roomId: roomId)
        case .directRoomsChanged: post(.mxSessionDirectRoomsDidChange)
        case .ignoredUsersChanged: post(.mxSessionIgnoredUsersDidChange)
        }
    }

    private func deliver(_ notice: CryptoNotice) {
        if let logger = options.logger { MXCryptoAlarm(notice)?.report(to: logger) }
        switch notice {
        case .dropped(let type, _, let error):
            options.logger?.report(
                .debug, "a message to this device was dropped: \(error)", ["matrix.type": "\(type)"])
        case .history(let roomId, _): Task { await takeHistory(of: roomId) }
        case .roomKey, .withheld, .devicesChanged, .identityChanged, .trustChanged, .signaturesRefused,
            .deviceKeysRefused, .ownKeysReplaced, .oneTimeKeysRefused, .storeWasCopied, .toDevice, .secretReceived,
            .backupChanged, .backupRefused, .backupRestored, .verificationChanged:
            break
        }
        post(.mxCryptoDidChange)
    }

    /// Calls the session's listeners, each if it is still there.
    private func call(_ event: MXEvent, state roomState: MXRoomState?) {
        for (listener, handler) in state.withLock({ $0.audience.listeners.interested(in: event.eventType) })
        where state.withLock({ $0.audience.listeners.has(listener) }) {
            handler.call(event, .forwards, roomState)
        }
    }
}

/// The key under which a notification's `userInfo` has the room.
public let kMXSessionNotificationRoomIdKey = "roomId"
/// The key under which a notification's `userInfo` has the event.
public let kMXSessionNotificationEventKey = "event"

extension Notification.Name {
    /// The session's state has changed.
    public static let mxSessionStateDidChange = Notification.Name("kMXSessionStateDidChangeNotification")
    /// A room was joined.
    public static let mxSessionNewRoom = Notification.Name("kMXSessionNewRoomNotification")
    /// A room goes: it was left, or we were removed from it.
    public static let mxSessionWillLeaveRoom = Notification.Name("kMXSessionWillLeaveRoomNotification")
    /// A room is gone.
    public static let mxSessionDidLeaveRoom = Notification.Name("kMXSessionDidLeaveRoomNotification")
    /// An answer to a sync was applied, stored and told.
    public static let mxSessionDidSync = Notification.Name("kMXSessionDidSyncNotification")
    /// There is a new invitation, or one less.
    public static let mxSessionInvitedRoomsDidChange = Notification.Name("kMXSessionInvitedRoomsDidChangeNotification")
    /// A message to this device came. `userInfo` has the event: `isDecrypted` says whether it was encrypted.
    public static let mxSessionOnToDeviceEvent = Notification.Name("kMXSessionOnToDeviceEventNotification")
    /// Other rooms are direct chats.
    public static let mxSessionDirectRoomsDidChange = Notification.Name("kMXSessionDirectRoomsDidChangeNotification")
    /// Global account data have changed.
    public static let mxSessionAccountDataDidChange = Notification.Name("kMXSessionAccountDataDidChangeNotification")
    /// Other users are ignored.
    public static let mxSessionIgnoredUsersDidChange = Notification.Name("kMXSessionIgnoredUsersDidChangeNotification")
    /// An event that was encrypted can be read now, or it is known better why not. `userInfo` has the event.
    public static let mxEventDidDecrypt = Notification.Name("kMXEventDidDecryptNotification")
    /// Something about keys, devices or trust has changed.
    public static let mxCryptoDidChange = Notification.Name("kMXCryptoDidChangeNotification")
    /// A room's summary has changed.
    public static let mxRoomSummaryDidChange = Notification.Name("kMXRoomSummaryDidChangeNotification")
    /// There is a gap before what comes next; the room's timeline begins anew.
    public static let mxRoomDidFlushData = Notification.Name("kMXRoomDidFlushDataNotification")
    /// A message of our own has its id. `userInfo` has the room, `localEventId` and `eventId`.
    public static let mxEventDidChangeIdentifier = Notification.Name("kMXEventDidChangeIdentifierNotification")
}
