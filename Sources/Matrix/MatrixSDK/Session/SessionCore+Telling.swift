import Basics
import Dispatch
import Logging
import MatrixEncryption
import MatrixProtocol
import PeerLog
import Realtime

package enum SessionReport: Sendable {
    case notices([SessionNotice])
    case stateChanged
    /// A message of the user is being sent, has arrived, has failed, or is no longer to be sent.
    case sendingChanged(roomId: String)
    /// - Parameter retryAfter: The delay; `nil` if there is no retry.
    case failed(any Error, retryAfter: Duration?)
}

/// Delivers to the application: listeners, notifications and the delegate on the completion queue; bindings of a
/// ``Pusher`` client at once.
extension SessionCore {
    /// - Parameters:
    ///   - rooms: The application's room objects at that time, including rooms the user has left.
    ///   - isSync: Whether the answer to a sync caused the notices.
    func tell(_ notices: [SessionNotice], rooms: [String: MXRoom] = [:], isSync: Bool = false) {
        handOver(notices)
        onQueue { core in
            for notice in notices { core.deliver(notice, rooms) }
            core.report(.notices(notices))
            core.account.noteTold(
                notices.compactMap { if case .toDevice(let message) = $0 { message.id } else { nil } })
            if isSync { core.post(.mxSessionDidSync) }
        }
        // Resume waiters after delivering the notices.
        endWaits()
    }

    /// Observes every report, on the completion queue.
    ///
    /// - Returns: The id for ``removeObserver(_:)``.
    @discardableResult
    func observeReports(_ observer: @escaping @Sendable (SessionReport) -> Void) -> UUID {
        let id = UUID()
        state.withLock { $0.audience.observers[id] = observer }
        return id
    }

    func removeObserver(_ id: UUID) {
        _ = state.withLock { $0.audience.observers.removeValue(forKey: id) }  // released after the lock
    }

    func report(_ report: SessionReport) {
        for observer in state.withLock({ Array($0.audience.observers.values) }) { observer(report) }
    }

    /// Runs `body` on the completion queue, in order with the answers to calls.
    func onQueue(_ body: @escaping @Sendable (SessionCore) -> Void) {
        rest.completions.add { [weak self] in
            if let self { body(self) }
        }
    }

    /// - Parameter body: Called on the main thread, as the delegate's methods require.
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
        // After the main actor's current work, which ends the life of an object without other owners.
        DispatchQueue.main.async { [weak self] in
            MainActor.assumeIsolated { self?.missDelegate() }
        }
    }

    /// Warns if the delegate is gone.
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
        // Programs written for the iOS SDK set no logger, and would never notice otherwise.
        (options.logger ?? Logger(label: "matrix")).report(
            .warning, "a delegate is gone and hears nothing: it is held weakly, so keep a reference to it")
    }

    /// Waits until everything pending now is delivered.
    func finishTelling() async {
        await withCheckedContinuation { continuation in onQueue { _ in continuation.resume() } }
    }

    /// Call this on the completion queue.
    func post(_ name: Notification.Name, roomId: String? = nil, event: MXEvent? = nil) {
        guard let session = session.withLock({ $0.session }) else { return }
        var userInfo: [AnyHashable: Any] = [:]
        userInfo[kMXSessionNotificationRoomIdKey] = roomId
        userInfo[kMXSessionNotificationEventKey] = event
        NotificationCenter.default.post(name: name, object: session, userInfo: userInfo.isEmpty ? nil : userInfo)
    }

    private func deliver(_ notice: SessionNotice, _ rooms: [String: MXRoom]) {
        // Also finds a room requested since then.
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
        case .changed: break  // the redaction reports it
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
        case .unreadChanged: break  // the summary reports it
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

    /// Calls the session's listeners, skipping those removed meanwhile.
    private func call(_ event: MXEvent, state roomState: MXRoomState?) {
        for (listener, handler) in state.withLock({ $0.audience.listeners.interested(in: event.eventType) })
        where state.withLock({ $0.audience.listeners.has(listener) }) {
            handler.call(event, .forwards, roomState)
        }
    }
}

/// The `userInfo` key for a notification's room.
public let kMXSessionNotificationRoomIdKey = "roomId"
/// The `userInfo` key for a notification's event.
public let kMXSessionNotificationEventKey = "event"

extension Notification.Name {
    /// Posted when the session's state has changed.
    public static let mxSessionStateDidChange = Notification.Name("kMXSessionStateDidChangeNotification")
    /// Posted when the user has joined a room.
    public static let mxSessionNewRoom = Notification.Name("kMXSessionNewRoomNotification")
    /// Posted when a room is about to go: the user left, or was removed from it.
    public static let mxSessionWillLeaveRoom = Notification.Name("kMXSessionWillLeaveRoomNotification")
    /// Posted when a room is gone.
    public static let mxSessionDidLeaveRoom = Notification.Name("kMXSessionDidLeaveRoomNotification")
    /// Posted when the answer to a sync has been applied, stored and delivered.
    public static let mxSessionDidSync = Notification.Name("kMXSessionDidSyncNotification")
    /// Posted when there is a new invitation, or one fewer.
    public static let mxSessionInvitedRoomsDidChange = Notification.Name("kMXSessionInvitedRoomsDidChangeNotification")
    /// Posted when a message to this device arrives. `userInfo` has the event: `isDecrypted` is true if it was
    /// encrypted.
    public static let mxSessionOnToDeviceEvent = Notification.Name("kMXSessionOnToDeviceEventNotification")
    /// Posted when the set of direct chats has changed.
    public static let mxSessionDirectRoomsDidChange = Notification.Name("kMXSessionDirectRoomsDidChangeNotification")
    /// Posted when global account data has changed.
    public static let mxSessionAccountDataDidChange = Notification.Name("kMXSessionAccountDataDidChangeNotification")
    /// Posted when the set of ignored users has changed.
    public static let mxSessionIgnoredUsersDidChange = Notification.Name("kMXSessionIgnoredUsersDidChangeNotification")
    /// Posted when an encrypted event has become readable, or the reason why it is not is known better. `userInfo` has
    /// the event.
    public static let mxEventDidDecrypt = Notification.Name("kMXEventDidDecryptNotification")
    /// Posted when keys, devices or trust have changed.
    public static let mxCryptoDidChange = Notification.Name("kMXCryptoDidChangeNotification")
    /// Posted when a room's summary has changed.
    public static let mxRoomSummaryDidChange = Notification.Name("kMXRoomSummaryDidChangeNotification")
    /// Posted when there is a gap before the next events; the room's timeline starts anew.
    public static let mxRoomDidFlushData = Notification.Name("kMXRoomDidFlushDataNotification")
    /// Posted when a message of the user gets its id. `userInfo` has the room, `localEventId` and `eventId`.
    public static let mxEventDidChangeIdentifier = Notification.Name("kMXEventDidChangeIdentifierNotification")
}
