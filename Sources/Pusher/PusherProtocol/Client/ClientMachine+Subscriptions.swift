import Basics
import JSONBytes
import Realtime
import Transport

/// The steps to a subscription, and the server's answers.
extension ClientMachine {
    /// Subscribes every wanted channel again: a new connection has no subscriptions.
    mutating func startAllSubscriptions(now: MonotonicInstant) {
        for (key, entry) in entries where !entry.isHeard { entries[key]?.isHeard = true }
        for id in channels.keys.sorted() { startSubscription(id, now: now) }
    }

    mutating func startSubscription(_ id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard socketID != nil, let channel = channels[id] else { return }  // starts after the handshake
        channels[id]?.authRetries = 0
        if let given = channel.givenAuth {
            channels[id]?.givenAuth = nil
            useAnswer(given, for: id, now: now)
        } else if channel.name.needsAuthorization {
            channels[id]?.state = .queued
            authorizations.enqueue(id)
            authorizeWaiting(now: now)
        } else {
            sendSubscription(id, nil, now: now)
        }
    }

    mutating func sendSubscription(
        _ id: EventRouter.ChannelID, _ answer: AuthAnswer?, myID: String? = nil, now: MonotonicInstant
    ) {
        guard let channel = channels[id] else { return }
        let deadline = now + configuration.subscriptionTimeout
        channels[id]?.state = .subscribing(deadline: deadline)
        channels[id]?.myID = myID
        subscriptionDeadlines.set(deadline, for: id)
        owedAnswers[ByteKey(channel.name.string), default: OwedAnswers()].subscribed()
        if channel.name.needsAuthorization { signedRequests.sent(.subscription(ByteKey(channel.name.string))) }
        send(.subscribe(channel.name, auth: answer?.auth, channelData: answer?.channelData))
        if channel.name.kind == .encrypted {
            channels[id]?.key = answer?.channelKey
            openSealed(on: id, now: now)  // events that waited for a newer key when the connection broke
        }
    }

    // MARK: The server's answer

    mutating func subscriptionSucceeded(_ event: RealtimeEvent, now: MonotonicInstant) {
        let answer = answered(event.channelKey)
        guard let (key, entry, channel) = channel(of: event), answer != .toAnEarlierOne else { return }
        switch channel.state {
        case .leaving:
            send(.unsubscribe(channel.name))
            forget(entry.id, key)
        case .subscribed where answer == .unasked: break  // once per connection is enough
        case .subscribing, .subscribed, .failed(mayBeSubscribed: true):
            channels[entry.id]?.state = .subscribed
            channels[entry.id]?.subscribedAt = now
            channels[entry.id]?.cache.subscribed(now: now)
            if !entry.isHeard { entries[key]?.isHeard = true }
            guard channel.name.kind != .serverToUser else { return }
            if channel.name.kind == .presence { replaceMembers(of: entry.id, with: event) }
            if !channel.isSubscribed { notices.append(.subscribed(entry.id, name: channel.name.string)) }
            // A second answer: the first was for an earlier subscription after all, which ended in between.
            if let start = channel.isSubscribed ? channel.subscribedAt : channel.missingSince {
                channels[entry.id]?.missingSince = nil
                notices.append(.gap(entry.id, name: channel.name.string, from: start, to: now))
            }
            notices.append(event.renamed("pusher:subscription_succeeded"), on: entry.id)
            sendUnsentEvents(of: entry.id, now: now)
        case .idle, .queued, .authorizing, .retrying, .awaitingUser, .failed(mayBeSubscribed: false):
            break  // ignore an answer without a request
        }
    }

    /// Determines which subscription to the channel the server has answered. After a timeout it may owe several
    /// answers.
    @discardableResult
    private mutating func answered(_ key: ByteKey?) -> OwedAnswers.Answer {
        guard let key, var owed = owedAnswers[key] else { return .unasked }
        signedRequests.answered(.subscription(key))
        let answer = owed.answered()
        owedAnswers[key] = owed.isEmpty ? nil : owed
        return answer
    }

    /// Records an error without a channel, which may refuse any of the subscriptions.
    mutating func someSubscriptionMayBeRefused() {
        for key in owedAnswers.keys { owedAnswers[key]?.mayBeRefused() }
    }

    /// - Parameter code: The code of the `pusher:error` that refuses it.
    /// - Returns: Whether the failure is reported.
    @discardableResult
    mutating func subscriptionFailed(_ event: RealtimeEvent, code: Int? = nil, reason: String) -> Bool {
        let answer = answered(event.channelKey)
        guard let (key, entry, channel) = channel(of: event), answer != .toAnEarlierOne else { return false }
        // No answer was owed. It may still end a subscription, but only once.
        if answer == .unasked, !channel.isSubscribed { return false }
        guard entry.isWanted else {
            forget(entry.id, key)
            return false
        }
        guard channel.name.kind != .serverToUser else {
            userChannelFailed(entry.id, reason: reason)
            return true
        }
        channels[entry.id]?.state = .failed(mayBeSubscribed: false)
        let error = PusherError(
            .subscriptionFailed, code: code, "the server refused the subscription: \(reason.prefix(200))",
            channelName: channel.name.string)
        channels[entry.id]?.failure = error
        notices.append(.subscriptionFailed(entry.id, error, nil, event: event.renamed("pusher:subscription_error")))
        return true
    }

    /// Handles a `pusher:error` that refuses a pending subscription, or one that has timed out.
    ///
    /// - Returns: Whether the failure is reported.
    mutating func subscriptionRefused(_ key: ByteKey, code: Int?, reason: String) -> Bool {
        guard let entry = entries[key], let channel = channels[entry.id], channel.deadline != nil else {
            answered(key)
            return false
        }
        let event = RealtimeEvent(
            name: "pusher:subscription_error", channel: channel.name.string,
            data: #"{"type":"SubscriptionError","error":\#(JSONString.quoted(reason))}"#)
        return subscriptionFailed(event, code: code, reason: reason)
    }

    mutating func notifyFailure(
        _ id: EventRouter.ChannelID, _ error: PusherError, _ failure: AuthFailure?, type: String
    ) {
        let status = failure?.status.map { #","status":\#($0)"# } ?? ""
        let event = RealtimeEvent(
            name: "pusher:subscription_error", channel: error.channelName,
            data: #"{"type":"\#(type)","error":\#(JSONString.quoted(error.message))\#(status)}"#)
        channels[id]?.failure = error
        notices.append(.subscriptionFailed(id, error, failure, event: event))
    }

    // MARK: Time

    mutating func expireSubscriptions(now: MonotonicInstant) {
        while let (deadline, id) = subscriptionDeadlines.popDue(now: now) {
            guard let channel = channels[id], channel.deadline == deadline else { continue }  // answered meanwhile
            owedAnswers[ByteKey(channel.name.string)]?.timedOut()
            if channel.name.kind == .serverToUser {
                userChannelFailed(id, reason: "there was no answer in time", mayBeSubscribed: true)
            } else if channel.isWanted {
                channels[id]?.state = .failed(mayBeSubscribed: true)
                let error = PusherError(
                    .subscriptionFailed, "the server did not answer the subscription in time",
                    channelName: channel.name.string, isUnanswered: true)
                notifyFailure(id, error, nil, type: "TimeoutError")
            } else {
                send(.unsubscribe(channel.name))
                forget(id, ByteKey(channel.name.string))
            }
        }
    }

    /// Restarts the deadlines: answers may have been waiting while reading was paused.
    mutating func restartSubscriptionDeadlines(now: MonotonicInstant) {
        let deadline = now + configuration.subscriptionTimeout
        var former = subscriptionDeadlines
        subscriptionDeadlines.removeAll()
        while let (old, id) = former.popFirst() {
            guard let channel = channels[id], channel.deadline == old else { continue }  // answered meanwhile
            channels[id]?.state = channel.isWanted ? .subscribing(deadline: deadline) : .leaving(deadline: deadline)
            subscriptionDeadlines.set(deadline, for: id)
        }
    }

    // MARK: Bookkeeping

    /// After the connection is lost, keeps wanted channels for the next one and removes the others.
    mutating func forgetSubscriptions() {
        for request in authorizations.removeAll() { actions.append(.cancelAuthorization(request)) }
        subscriptionDeadlines.removeAll()
        owedAnswers = [:]
        authRetries.removeAll()
        keepThrottledEvents()
        for (id, channel) in channels {
            if channel.isWanted {
                if channel.isSubscribed { channels[id]?.missingSince = lastHeard }
                channels[id]?.state = .idle
                channels[id]?.keyRequest = .none
                channels[id]?.members = PresenceMembers()
                channels[id]?.subscriptionCount = nil
            } else {
                forget(id, ByteKey(channel.name.string))
            }
        }
    }

    /// Returns the channel that a frame names. Reports an unknown name once.
    mutating func channel(
        of event: RealtimeEvent
    ) -> (key: ByteKey, entry: Entry, channel: ChannelMachine)? {
        guard let key = event.channelKey, let entry = entries[key], let channel = channels[entry.id] else {
            reportUnknownChannel(of: event)
            return nil
        }
        return (key, entry, channel)
    }

    mutating func send(_ frame: ClientFrame) {
        guard let transport = connection.transport, socketID != nil else { return }
        actions.append(.send(transport, frame))
    }
}
