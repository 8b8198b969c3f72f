import Basics
import CurlTransport
import Foundation
import FoundationNetworking
import Logging
import PeerLog
import PusherProtocol
import Realtime

/// Notifies the application. Everything here runs on the callback queue unless noted otherwise.
extension ClientCore: HubOwner {
    /// Queues `notices` for the application.
    @NetworkActor
    func deliver(_ notices: [ClientMachine.Notice]) {
        options.metrics?.delivered(notices)
        for notice in notices { logHold(notice) }
        putInLine(notices)
    }

    func tell(_ notice: ClientMachine.Notice) {
        switch notice {
        case .events: break  // the hub delivers them
        case .stateChanged(let old, let new): stateChanged(from: old, to: new)
        case .subscribed(let channel, let name): subscribed(channel, name: name)
        case .subscriptionFailed(let channel, let error, let failure, let event):
            subscriptionFailed(channel, error, failure, event: event)
        case .decryptionFailed(let channel, let event):
            delegate(for: channel)??.failedToDecryptEvent(
                eventName: event.eventName, channelName: event.channelName ?? "", data: event.data)
        case .memberAdded(let channel, let member):
            callbacks.withLock { $0.channels[channel]?.handlers.memberAdded }?(PusherPresenceChannelMember(member))
        case .memberRemoved(let channel, let member):
            callbacks.withLock { $0.channels[channel]?.handlers.memberRemoved }?(PusherPresenceChannelMember(member))
        case .subscriptionCount(let channel, let count):
            callbacks.withLock { $0.channels[channel]?.handlers.subscriptionCountChanged }?(count)
        case .gap(let channel, let name, let start, let end):
            let gap = PusherGap(channelName: name, from: start, to: end, now: .now)
            if callbacks.withLock({ $0.channels[channel]?.handlers.gap }) != nil { tell(gap, on: channel) }
        case .signedIn(let user):
            options.logger?.report(.debug, "signed in", ["pusher.user": "\(user.id)"])
            debugLog("signed in as \(user.id)")
            hub.deliver(
                RealtimeEvent(name: "pusher:signin_success", channel: nil, data: user.data), toBindingsOf: .user)
        case .signInFailed(let error, let event):
            log(error)
            delegate?.receivedError(error: error)
            hub.deliver(event, toBindingsOf: .user)
        case .watchlistChanged(let change):
            hub.deliver(
                RealtimeEvent(name: change.name, channel: nil, data: change.data), toBindingsOf: .watchlist)
        case .pingAnswered, .sourceStateChanged: break  // reported to observers
        case .error(let error):
            log(error)
            delegate?.receivedError(error: error)
        case .readingHeld(let error), .readingResumed(let error, _):
            delegate?.receivedError(error: error)
        }
    }

    /// Looks up the handler only when it is about to run: the channel or the client may be gone by then.
    private func tell(_ gap: PusherGap, on channel: EventRouter.ChannelID) {
        Task { [weak self] in await self?.callbacks.withLock { $0.channels[channel]?.handlers.gap }?(gap) }
    }

    /// Logs at once that events wait for a reader: the callbacks may be that reader.
    @NetworkActor
    private func logHold(_ notice: ClientMachine.Notice) {
        switch notice {
        case .readingHeld(let error): log(error)
        case .readingResumed(let error, _):
            options.logger?.report(
                .notice, "events are received again: \(error.message)",
                ["pusher.channel": error.channelName.map { PeerText($0) }])
        case .events, .stateChanged, .subscribed, .subscriptionFailed, .decryptionFailed, .memberAdded, .memberRemoved,
            .subscriptionCount, .gap, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered, .sourceStateChanged,
            .error:
            break
        }
    }

    // MARK: Slow readers

    func hold(for reader: EventReader) { perform { machine, now in machine.holdReading(for: reader, now: now) } }

    func release(for reader: EventReader) { perform { machine, now in machine.releaseReading(for: reader, now: now) } }

    func lost(_ loss: EventLoss, channelName: String?) {
        options.metrics?.dropped()
        switch loss {
        case .oldest: break
        case .rest:
            report(
                PusherError(
                    .bufferOverflow,
                    "a sequence was read too slowly for its buffer (EventBufferingPolicy.fail) and has ended",
                    channelName: channelName))
        }
    }

    func execute(_ job: @escaping @Sendable () -> Void) { NetworkActor.execute { job() } }

    // MARK: Notifications

    private func stateChanged(from old: ConnectionState, to new: ConnectionState) {
        options.logger?.report(
            .debug, "connection state changed",
            ["pusher.state": "\(new.stringValue())", "pusher.state.old": "\(old.stringValue())"])
        callbacks.withLock { $0.announcedState = new }
        // Checked before each call: a call may release the client.
        debugLog("connection state: \(old.stringValue()) → \(new.stringValue())")
        delegate?.changedConnectionState(from: old, to: new)
    }

    /// Returns `nil` if the channel was unsubscribed since: the application no longer expects reports about it.
    private func delegate(for channel: EventRouter.ChannelID) -> (any PusherDelegate)?? {
        callbacks.withLock { $0.channels[channel] == nil } ? nil : .some(delegate)
    }

    private func subscribed(_ channel: EventRouter.ChannelID, name: String) {
        guard callbacks.withLock({ $0.channels[channel] != nil }) else { return }
        options.logger?.report(.debug, "subscribed", ["pusher.channel": "\(name)"])
        debugLog("subscribed to channel \(name)")
        delegate(for: channel)??.subscribedToChannel(name: name)
    }

    private func subscriptionFailed(
        _ channel: EventRouter.ChannelID, _ error: PusherError, _ failure: AuthFailure?, event: RealtimeEvent
    ) {
        guard let delegate = delegate(for: channel) else { return }
        log(error)
        delegate?.failedToSubscribeToChannel(
            name: error.channelName ?? "", response: failure?.status.flatMap(authResponse), data: failure?.body,
            error: error.asNSError)
        hub.deliver(event, on: channel)
    }

    /// Returns the auth endpoint's response without its body.
    private func authResponse(status: Int) -> URLResponse? {
        guard case .endpoint(let endpoint) = options.authMethod, let url = URL(string: endpoint) else { return nil }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
    }

    private func log(_ error: PusherError) {
        options.logger?.report(
            .warning, "\(error)",
            [
                "pusher.error.kind": "\(error.kind.rawValue)",
                "pusher.channel": error.channelName.map { PeerText($0) },
            ])
    }
}

extension PusherDelegate {
    /// The only path to ``debugLog(message:)``, which also writes a log.
    func debugLog(_ message: PeerText) { debugLog(message: message.description) }
}

extension PusherError {
    /// An NSError with this error as its underlying error.
    fileprivate var asNSError: NSError {
        NSError(
            domain: "PusherError", code: code ?? 0,
            userInfo: [NSLocalizedDescriptionKey: description, NSUnderlyingErrorKey: self])
    }
}

extension PusherGap {
    init(channelName: String, from start: MonotonicInstant, to end: MonotonicInstant, now: MonotonicInstant) {
        func date(_ instant: MonotonicInstant) -> Date { Date(timeIntervalSinceNow: -((now - instant) / .seconds(1))) }
        self.init(channelName: channelName, start: date(start), end: date(end))
    }
}

extension ClientMachine.Notice: HubNotice {
    package var events: EventBatch? {
        if case .events(let batch) = self { batch } else { nil }
    }

    package var isUrgent: Bool {
        switch self {
        case .readingHeld, .readingResumed: true
        case .events, .stateChanged, .subscribed, .subscriptionFailed, .decryptionFailed, .memberAdded, .memberRemoved,
            .subscriptionCount, .gap, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered, .sourceStateChanged,
            .error:
            false
        }
    }

    package var channel: EventRouter.ChannelID? {
        switch self {
        case .subscribed(let id, _), .subscriptionFailed(let id, _, _, _), .decryptionFailed(let id, _),
            .memberAdded(let id, _), .memberRemoved(let id, _), .subscriptionCount(let id, _), .gap(let id, _, _, _):
            id
        case .events, .stateChanged, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered, .sourceStateChanged,
            .error,
            .readingHeld, .readingResumed:
            nil
        }
    }
}

/// Bindings to every event of every channel.
extension ClientCore {
    func bindGlobally(_ callback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        hub.bind(to: nil, callback)?.string ?? "closed"
    }

    func bindGlobally(message callback: @escaping @Sendable (Any?) -> Void) -> String {
        let parses = options.attemptToReturnJSONObject
        return bindGlobally { callback($0.message(parsed: parses || $0.isServerError)) }
    }

    func unbindGlobally(_ callbackId: String) {
        EventRouter.BindingID(string: callbackId).map { hub.unbind($0, from: nil) }
    }
}
