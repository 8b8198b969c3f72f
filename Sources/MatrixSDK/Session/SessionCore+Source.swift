import CurlTransport
import MatrixProtocol
import Realtime
import Transport

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
    /// On a room's channel: `{"notification_count":…,"highlight_count":…,"unread_count":…}`.
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
        let (sinks, lastSync) = (sinks, state.withLock { $0.lastSync })
        guard !sinks.isEmpty else { return }
        var events = SourceEvents()
        for notice in notices {
            switch notice {
            case .live(let live):
                append(
                    live.event, to: "matrix:" + live.roomId, notifies: live.push.notify,
                    highlights: live.push.highlight, &events)
            case .ephemeral(let event), .roomAccountData(let event):
                append(event, to: "matrix:" + (event.roomId ?? ""), &events)
            case .presence(let event), .accountData(let event): append(event, to: accountChannel, &events)
            case .joined(let roomId):
                append(MatrixEventName.join, ["room_id": roomId], to: roomId, &events)
            case .invited(let roomId, let inviter):
                let name = state.withLock { $0.model?.rooms[roomId]?.summary.displayName }
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
                append(
                    MatrixEventName.unread,
                    [
                        "notification_count": summary.notificationCount, "highlight_count": summary.highlightCount,
                        "unread_count": summary.localUnreadEventCount,
                    ], to: summary.roomId, &events)
            case .gap(let roomId):
                // Events before it and after it must stand on their sides of the gap.
                hand(events, to: sinks)
                events = SourceEvents()
                let gap = SourceGap(channelName: "matrix:" + roomId, start: lastSync ?? Date(), end: Date())
                for sink in sinks { sink.receive(gap) }
            case .toDevice, .knocked, .changed, .relationsChanged, .echoConfirmed, .summaryChanged,
                .directRoomsChanged, .ignoredUsersChanged:
                break
            }
        }
        hand(events, to: sinks)
    }

    func hand(_ events: SourceEvents) { hand(events, to: sinks) }

    private func hand(_ events: SourceEvents, to sinks: [any RealtimeEventSink]) {
        guard !events.isEmpty else { return }
        for sink in sinks { sink.receive(events) }
    }

    private func append(
        _ event: MXEvent, to channel: String, notifies: Bool = false, highlights: Bool = false,
        _ events: inout SourceEvents
    ) {
        events.append(
            name: event.type, channel: channel, data: event.data, userId: event.sender.isEmpty ? nil : event.sender,
            notifies: notifies, highlights: highlights)
    }

    private func append(
        _ name: String, _ fields: [String: (any Sendable)?], to roomId: String, userId: String? = nil,
        notifies: Bool = false, _ events: inout SourceEvents
    ) {
        let data = try? JSONSerialization.data(withJSONObject: fields.compactMapValues { $0 }, options: .sortedKeys)
        events.append(
            name: name, channel: "matrix:" + roomId, data: data ?? Data("{}".utf8), userId: userId, notifies: notifies)
    }

    // MARK: Sinks

    var sinks: [any RealtimeEventSink] { state.withLock { $0.sinkReferences.compactMap(\.sink) } }

    func attach(_ sink: any RealtimeEventSink) {
        _ = state.withLock { state in
            let others = state.remove(sink)
            state.sinkReferences.append(WeakSink(sink: sink))
            return others
        }
        holdOrRelease()
    }

    func detach(_ sink: any RealtimeEventSink) {
        _ = state.withLock { $0.remove(sink) }
        holdOrRelease()
    }

    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {
        let id = ObjectIdentifier(sink)
        state.withLock { state in
            // One that was detached meanwhile holds nothing.
            if isHeld, state.sinkReferences.contains(where: { $0.id == id }) {
                state.holders.insert(id)
            } else {
                state.holders.remove(id)
            }
        }
        holdOrRelease()
    }

    /// By what holds then: of two changes from two threads the last has the last word.
    private func holdOrRelease() {
        withDriver { [weak self] driver in
            guard let self else { return }
            driver.hold(state.withLock { !$0.holders.isEmpty })
        }
    }
}

extension SessionCore.State {
    /// Removes a sink, and those that are gone.
    ///
    /// - Returns: The others, to be let go of after the lock: this may hold the last reference to one.
    fileprivate mutating func remove(_ sink: any RealtimeEventSink) -> [any RealtimeEventSink] {
        let living = sinkReferences.compactMap(\.sink)
        let ids = Set(living.map { ObjectIdentifier($0) }).subtracting([ObjectIdentifier(sink)])
        sinkReferences.removeAll { !ids.contains($0.id) }
        holders.formIntersection(ids)
        return living
    }
}
