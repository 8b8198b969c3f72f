import Basics
import CurlTransport
import MatrixProtocol
import Realtime

/// Names of events that are made here, beside the types of the Matrix specification. Their data is JSON.
public enum MatrixEventName {
    /// On the channel of the account: `{"state":"running"}`, the name of an ``MXSessionState``.
    public static let syncState = "matrix:sync_state"
    /// On a room's channel: `{"room_id":…,"name":…,"inviter":…}`.
    public static let invite = "matrix:invite"
    /// On a room's channel: we are in it now. `{"room_id":…}`.
    public static let join = "matrix:join"
    /// On a room's channel: we are not in it, or not invited, any more. `{"room_id":…,"membership":…,"sender":…,"reason":…}`.
    public static let leave = "matrix:leave"
    /// On a room's channel: `{"notification_count":…,"highlight_count":…,"unread_count":…}`, and with unread
    /// threads `"threads":{"$root":{"notification_count":…,"highlight_count":…}}`; their counts are in the first two.
    public static let unread = "matrix:unread"
}

/// Sync answers as events of channels.
///
/// Each event of a joined room comes under its type on the channel `matrix:<room id>`; its data is the event's JSON, and its
/// user the sender. So do typing (`m.typing`), receipts (`m.receipt`) and the room's account data. Presence, global account
/// data and the sync's state come on `matrix:<own user id>`. A gap is dated from the last sync of this session; before there
/// was one, when that was is not known, and a gap has no length.
extension SessionCore {
    var accountChannel: String { "matrix:" + userId }

    func handOver(_ notices: [SessionNotice]) {
        let lastSync = state.withLock { $0.lastSync }
        func gap(_ roomId: String, _ prevBatch: String?) -> SourceGap {
            SourceGap(
                channelName: "matrix:" + roomId, start: lastSync ?? Date(), end: Date(), endPosition: prevBatch)
        }
        guard isHeard else {
            for case .gap(let roomId, let prevBatch) in notices { publish(gap(roomId, prevBatch)) }
            return
        }
        var events = SourceEvents()
        for notice in notices {
            switch notice {
            case .live(let live):
                events.append(
                    live.event, to: "matrix:" + live.roomId, notifies: live.push.notify,
                    highlights: live.push.highlight)
            case .ephemeral(let event), .roomAccountData(let event):
                events.append(event, to: "matrix:" + (event.roomId ?? ""))
            case .presence(let event), .accountData(let event): events.append(event, to: accountChannel)
            case .joined(let roomId):
                append(MatrixEventName.join, ["room_id": roomId], to: roomId, &events)
            case .invited(let roomId, let inviter):
                let name = account.summary(roomId)?.displayName
                append(
                    MatrixEventName.invite, ["room_id": roomId, "name": name, "inviter": inviter], to: roomId,
                    userId: inviter, notifies: true, &events)
            case .left(let roomId, let event):
                let content = event?.contentJSON
                append(
                    MatrixEventName.leave,
                    [
                        "room_id": roomId, "membership": content?["membership"]?.string, "sender": event?.sender,
                        "reason": content?["reason"]?.string,
                    ], to: roomId, userId: event?.sender, &events)
            case .unreadChanged(let summary):
                let threads = summary.unreadThreads.mapValues {
                    ["notification_count": $0.notificationCount, "highlight_count": $0.highlightCount]
                }
                append(
                    MatrixEventName.unread,
                    [
                        "notification_count": summary.notificationCount, "highlight_count": summary.highlightCount,
                        "unread_count": summary.localUnreadEventCount, "threads": threads.isEmpty ? nil : threads,
                    ], to: summary.roomId, &events)
            case .gap(let roomId, let prevBatch):
                // Events before it and after it must stand on their sides of the gap.
                publish(events)
                events = SourceEvents()
                publish(gap(roomId, prevBatch))
            case .decrypted(let roomId, let decrypted):
                for live in decrypted {
                    events.append(
                        live.event, to: "matrix:" + roomId, notifies: live.push.notify, highlights: live.push.highlight)
                }
            case .toDevice, .knocked, .changed, .relationsChanged, .echoConfirmed, .summaryChanged,
                .directRoomsChanged, .ignoredUsersChanged, .encryption:
                break
            }
        }
        publish(events)
    }

    private func append(
        _ name: String, _ fields: [String: (any Sendable)?], to roomId: String, userId: String? = nil,
        notifies: Bool = false, _ events: inout SourceEvents
    ) {
        let data = try? JSONSerialization.data(withJSONObject: fields.compactMapValues { $0 }, options: .sortedKeys)
        events.append(
            name: name, channel: "matrix:" + roomId, data: data ?? Data("{}".utf8), userId: userId, notifies: notifies)
    }

    // MARK: Who listens

    func hold(for reader: EventReader) { withDriver { $0.hold(for: reader) } }

    func release(for reader: EventReader) { withDriver { $0.release(for: reader) } }

    func hold(_ isHeld: Bool) { withDriver { $0.hold(isHeld) } }

    func lost(_ loss: EventLoss, channelName: String?) {
        switch loss {
        case .oldest: break
        case .rest:
            publish(SourceFailure("a sequence of events was read too slowly and has ended", channelName: channelName))
        }
    }

    func execute(_ job: @escaping @Sendable () -> Void) { NetworkActor.execute { job() } }

    func publish(_ state: MXSessionState) {
        publish(SourceState(channelName: accountChannel, connectionState: state.connection, underlying: state))
        var events = SourceEvents()
        events.append(
            name: MatrixEventName.syncState, channel: accountChannel, data: #"{"state":"\#(state)"}"#.utf8)
        publish(events)
    }
}

extension SourceEvents {
    /// Adds an event of a channel, decrypted if it was.
    package mutating func append(
        _ event: MXEvent, to channel: String, notifies: Bool = false, highlights: Bool = false
    ) {
        append(
            name: event.type, channel: channel, data: event.clearJSON.data,
            userId: event.sender.isEmpty ? nil : event.sender,
            notifies: notifies, highlights: highlights)
    }
}

extension MXSessionState {
    /// What a state means for the connection to the homeserver.
    fileprivate var connection: ConnectionState {
        switch self {
        case .running: .connected
        case .syncInProgress: .connecting
        case .homeserverNotReachable, .syncError, .initialSyncFailed: .reconnecting
        case .closed, .initialised, .storeDataReady, .processingBackgroundSyncCache, .backgroundSyncInProgress, .paused,
            .pauseRequested:
            .disconnected
        @unknown default: .disconnected
        }
    }
}
