import CurlTransport
import Foundation
import Logging
import PeerLog
import PusherProtocol
import Realtime
import Transport
import FoundationNetworking

/// Tells the application. Everything here runs on the callback queue, unless it says otherwise.
extension ClientCore {
    func deliver(_ notice: ClientMachine.Notice) {
        wakeUps.run()
        switch notice {
        case .events: return  // delivered by the next method
        case .stateChanged(let old, let new): stateChanged(from: old, to: new)
        case .subscribed(let channel, let name): subscribed(channel, name: name)
        case .subscriptionFailed(let channel, let error, let failure, let event):
            subscriptionFailed(channel, error, failure, event: event)
        case .decryptionFailed(let channel, let event):
            delegate(for: channel)??.failedToDecryptEvent(
                eventName: event.eventName, channelName: event.channelName ?? "", data: event.data)
        case .memberAdded(let channel, let member):
            bindings.withLock { $0.handlers[channel]?.memberAdded }?(PusherPresenceChannelMember(member))
        case .memberRemoved(let channel, let member):
            bindings.withLock { $0.handlers[channel]?.memberRemoved }?(PusherPresenceChannelMember(member))
        case .subscriptionCount(let channel, let count):
            bindings.withLock { $0.handlers[channel]?.subscriptionCountChanged }?(count)
        case .gap(let channel, let name, let start, let end):
            let gap = PusherGap(channelName: name, from: start, to: end, now: .now)
            if bindings.withLock({ $0.handlers[channel]?.gap }) != nil { tell(gap, on: channel) }
        case .signedIn(let user):
            options.logger?.report(.debug, "signed in", ["pusher.user": "\(user.id)"])
            bindings.withLock { $0.delegate }?.debugLog("signed in as \(user.id)")
            deliver(
                RealtimeEvent(name: "pusher:signin_success", channel: nil, data: user.data), toBindingsOf: .user)
        case .signInFailed(let error, let event):
            log(error)
            bindings.withLock { $0.delegate }?.receivedError(error: error)
            deliver(event, toBindingsOf: .user)
        case .watchlistChanged(let change):
            deliver(
                RealtimeEvent(name: change.name, channel: nil, data: change.data), toBindingsOf: .watchlist)
        case .pingAnswered: break
        case .error(let error):
            log(error)
            bindings.withLock { $0.delegate }?.receivedError(error: error)
        case .readingHeld(let error), .readingResumed(let error, _):
            bindings.withLock { $0.delegate }?.receivedError(error: error)
            return  // everybody else knows
        }
        for observer in bindings.withLock({ $0.observers(of: notice.channel) }) { observer.onNotice?(notice) }
    }

    /// The handler is asked for when it is to run: the channel or the client may have gone meanwhile.
    private func tell(_ gap: PusherGap, on channel: EventRouter.ChannelID) {
        Task { [weak self] in await self?.bindings.withLock { $0.handlers[channel]?.gap }?(gap) }
    }

    /// Tells the log and the sequences at once that events wait for somebody: the callbacks may be what they wait for.
    @NetworkActor
    func tellOfHold(_ notice: ClientMachine.Notice) {
        switch notice {
        case .readingHeld(let error): log(error)
        case .readingResumed(let error, _):
            options.logger?.report(
                .notice, "events are received again",
                ["pusher.reason": "\(error.message)", "pusher.channel": "\(error.channelName ?? "-")"])
        case .events, .stateChanged, .subscribed, .subscriptionFailed, .decryptionFailed, .memberAdded, .memberRemoved,
            .subscriptionCount, .gap, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered, .error:
            return
        }
        for observer in bindings.withLock({ $0.observers(of: nil) }) { observer.onNotice?(notice) }
    }

    /// Global bindings first, then the channel's, in order of binding.
    ///
    /// - Parameters:
    ///   - isLikeTheLast: Whether it has name and channel of the event before.
    ///   - route: That of the last event. It is looked up anew when something was bound or unbound since.
    func deliver(
        _ event: RealtimeEvent, on channel: EventRouter.ChannelID?, isLikeTheLast: Bool = false,
        by route: inout Route?
    ) {
        let version = routerVersion.value
        let isValid =
            isLikeTheLast
            ? route?.isCurrent(version) == true : route?.isValid(for: event, on: channel, version: version) == true
        if !isValid {
            route = bindings.withLock { $0.router.route(of: event, on: channel) }
        }
        // A handler may unsubscribe.
        route?.call(event, version: routerVersion, wakeUps: wakeUps) { channel in
            bindings.withLock { $0.isLive(channel) }
        }
    }

    /// What is not a message of the server's is not for global bindings.
    private func deliver(_ event: RealtimeEvent, toBindingsOf channel: EventRouter.ChannelID) {
        bindings.withLock { $0.router.route(of: event, on: channel) }.callBound(
            event, version: routerVersion, wakeUps: wakeUps
        ) { channel in bindings.withLock { $0.isLive(channel) } }
    }

    private func stateChanged(from old: ConnectionState, to new: ConnectionState) {
        options.logger?.report(
            .debug, "connection state changed",
            ["pusher.state": "\(new.stringValue())", "pusher.state.old": "\(old.stringValue())"])
        bindings.withLock { $0.announcedState = new }
        // Asked for before each call: the client may go in one.
        bindings.withLock { $0.delegate }?.debugLog("connection state: \(old.stringValue()) → \(new.stringValue())")
        bindings.withLock { $0.delegate }?.changedConnectionState(from: old, to: new)
    }

    /// Nil if the channel was unsubscribed since: the application does not want to hear of it any more.
    private func delegate(for channel: EventRouter.ChannelID) -> (any PusherDelegate)?? {
        bindings.withLock { bindings in
            bindings.channelObjects[channel] == nil ? nil : .some(bindings.delegate)
        }
    }

    private func subscribed(_ channel: EventRouter.ChannelID, name: String) {
        guard let delegate = delegate(for: channel) else { return }
        options.logger?.report(.debug, "subscribed", ["pusher.channel": "\(name)"])
        delegate?.debugLog("subscribed to channel \(name)")
        self.delegate(for: channel)??.subscribedToChannel(name: name)
    }

    private func subscriptionFailed(
        _ channel: EventRouter.ChannelID, _ error: PusherError, _ failure: AuthFailure?, event: RealtimeEvent
    ) {
        guard let delegate = delegate(for: channel) else { return }
        log(error)
        delegate?.failedToSubscribeToChannel(
            name: error.channelName ?? "", response: failure?.status.flatMap(authResponse), data: failure?.body,
            error: error.asNSError)
        var route: Route?
        deliver(event, on: channel, by: &route)
    }

    /// What is left of the auth endpoint's answer once its body is read.
    private func authResponse(status: Int) -> URLResponse? {
        guard case .endpoint(let endpoint) = options.authMethod, let url = URL(string: endpoint) else { return nil }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
    }

    private func log(_ error: PusherError) {
        options.logger?.report(
            .warning, "pusher error",
            [
                "pusher.error": "\(error)", "pusher.error.kind": "\(error.kind.rawValue)",
                "pusher.channel": "\(error.channelName ?? "-")",
            ])
    }
}

extension PusherDelegate {
    /// The only way to ``debugLog(message:)``, which is a log as well.
    fileprivate func debugLog(_ message: PeerText) { debugLog(message: message.description) }
}

extension PusherError {
    /// The error itself is the underlying one.
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

extension ClientMachine.Notice {
    /// The channel that it concerns; nil for the whole client.
    fileprivate var channel: EventRouter.ChannelID? {
        switch self {
        case .subscribed(let id, _), .subscriptionFailed(let id, _, _, _), .decryptionFailed(let id, _),
            .memberAdded(let id, _), .memberRemoved(let id, _), .subscriptionCount(let id, _), .gap(let id, _, _, _):
            id
        case .events, .stateChanged, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered, .error,
            .readingHeld, .readingResumed:
            nil
        }
    }
}
