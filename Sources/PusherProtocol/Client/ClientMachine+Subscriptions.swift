package import Realtime
package import Transport

/// Subscribing and unsubscribing. The last intent of the application wins, whatever is pending.
extension ClientMachine {
    // MARK: What the application asks

    /// Subscribes, now or after the next handshake. A channel that failed is tried again; one that is subscribed or
    /// on the way stays as it is.
    ///
    /// - Parameter auth: A signature that the application has already, good for one attempt.
    /// - Returns: The channel's id, and whether it is a new one.
    package mutating func subscribe(
        to name: ChannelName, auth: AuthAnswer? = nil, now: MonotonicInstant
    ) -> (id: EventRouter.ChannelID, isNew: Bool) {
        let key = ByteKey(name.string)
        guard let entry = entries[key] else {
            let id = makeChannelID()
            entries[key] = Entry(id: id, name: name)
            channels[id] = ChannelMachine(name: name, id: id, givenAuth: auth)
            startSubscription(id, now: now)
            return (id, true)
        }
        guard entry.isWanted else { return (rejoin(entry, key), true) }
        switch channels[entry.id]?.state {
        case .failed(let mayBeSubscribed):
            if mayBeSubscribed { send(.unsubscribe(name)) }  // to a slow server the next frame would be a second one
            channels[entry.id]?.givenAuth = auth
            startSubscription(entry.id, now: now)
        case .idle, .queued, .retrying:
            guard let auth else { break }
            channels[entry.id]?.givenAuth = auth
            startSubscription(entry.id, now: now)
        case .authorizing, .awaitingUser, .subscribing, .subscribed, .leaving, nil: break
        }
        return (entry.id, false)
    }

    /// Unsubscribes, or forgets the wish to subscribe. Unknown names are fine.
    ///
    /// - Returns: The id of the channel that is no more.
    package mutating func unsubscribe(from name: String, now: MonotonicInstant) -> EventRouter.ChannelID? {
        let key = ByteKey(name)
        guard let entry = entries[key], entry.isWanted, let channel = channels[entry.id],
            channel.name.kind != .serverToUser
        else { return nil }
        quiet(key)
        discardClientEvents(of: entry.id)
        cancelKeyRequest(of: entry.id)
        switch channel.state {
        case .subscribing(let deadline):
            entries[key]?.isWanted = false
            channels[entry.id]?.state = .leaving(deadline: deadline)
            channels[entry.id]?.sealed = []
        case .authorizing(let request):
            _ = authorizations.end(request)
            actions.append(.cancelAuthorization(request))
            forget(entry.id, key)
        case .subscribed, .failed(mayBeSubscribed: true):
            send(.unsubscribe(channel.name))
            forget(entry.id, key)
        case .idle, .queued, .retrying, .awaitingUser, .failed(mayBeSubscribed: false), .leaving:
            forget(entry.id, key)
        }
        authorizeWaiting(now: now)
        return entry.id
    }

    /// Names of all wanted channels, in order of subscription.
    package var channelNames: [String] {
        channels.values.filter { $0.isWanted && $0.name.kind != .serverToUser }.sorted { $0.id < $1.id }
            .map(\.name.string)
    }

    /// The channel of this name, if it is wanted.
    package func channelID(named name: String) -> EventRouter.ChannelID? {
        entries[ByteKey(name)].flatMap { $0.isWanted ? $0.id : nil }
    }

    package func isSubscribed(_ id: EventRouter.ChannelID) -> Bool { channels[id]?.isSubscribed ?? false }

    /// Why the channel is neither subscribed nor on the way; nil if it is.
    package func failure(of id: EventRouter.ChannelID) -> PusherError? {
        if case .failed = channels[id]?.state { channels[id]?.failure } else { nil }
    }

    /// Whether a subscription is done or on its way, on this connection.
    package func isSubscribing(_ id: EventRouter.ChannelID) -> Bool {
        switch channels[id]?.state {
        case .queued, .authorizing, .retrying, .awaitingUser, .subscribing, .subscribed: true
        case .idle, .failed, .leaving, nil: false
        }
    }

    package func isWanted(_ id: EventRouter.ChannelID) -> Bool { channels[id]?.isWanted ?? false }

    package func members(of id: EventRouter.ChannelID) -> PresenceMembers { channels[id]?.members ?? PresenceMembers() }

    package func subscriptionCount(of id: EventRouter.ChannelID) -> Int? { channels[id]?.subscriptionCount }

    package func myID(on id: EventRouter.ChannelID) -> String? { channels[id]?.myID }

    package func unsentEvents(of id: EventRouter.ChannelID) -> [(event: String, data: String)] {
        channels[id]?.unsent ?? []
    }

    // MARK: The way to a subscription

    /// Starts with every wanted channel anew: a connection knows nothing of the one before.
    mutating func startAllSubscriptions(now: MonotonicInstant) {
        for id in channels.keys.sorted() { startSubscription(id, now: now) }
    }

    mutating func startSubscription(_ id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard socketID != nil, let channel = channels[id] else { return }  // after the handshake, then
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

    mutating func authorizeWaiting(now: MonotonicInstant) {
        while authorizations.underWayCount < configuration.maximumAuthRequests, let socketID,
            let id = authorizations.popWaiting()
        {
            guard let channel = channels[id], channel.state == .queued || channel.keyRequest == .queued else {
                continue  // left meanwhile
            }
            let request = authorizations.begin(for: id, deadline: now + configuration.authTimeout)
            if channel.state == .queued {
                channels[id]?.state = .authorizing(request)
            } else {
                channels[id]?.keyRequest = .underWay(request)
            }
            actions.append(.authorize(AuthRequest(id: request, channel: channel.name, socketID: socketID)))
        }
    }

    /// Whether somebody waits for the answer to a request.
    package func isAwaited(_ request: AuthRequestID) -> Bool {
        if case .authorizing(request, _) = user.state { return true }
        return authorizations.isUnderWay(request)
    }

    /// The application's server answered, or could not be asked.
    package mutating func authAnswered(
        _ request: AuthRequestID, _ answer: Result<AuthAnswer, AuthFailure>, now: MonotonicInstant
    ) {
        guard let id = authorizations.end(request), let channel = channels[id] else { return }
        if channel.keyRequest == .underWay(request) {
            keyAnswered(id, answer, now: now)
        } else if channel.state == .authorizing(request) {
            switch answer {
            case .success(let answer): useAnswer(answer, for: id, now: now)
            case .failure(let failure)
            where failure.isTemporary && channel.authRetries < configuration.maximumAuthRetries:
                retryAuthorization(of: id, failure, now: now)
            case .failure(let failure): authorizationFailed(id, failure)
            }
        } else {
            return  // for a wish of the past
        }
        authorizeWaiting(now: now)
    }

    private mutating func useAnswer(_ answer: AuthAnswer, for id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard let channel = channels[id] else { return }
        if let failure = answer.failure(for: channel.name) {
            authorizationFailed(id, failure)
        } else if channel.name.kind == .presence, answer.channelData == nil {
            joinAsUser(answer, id, now: now)
        } else {
            let myID = PresenceMembers.Member(data: answer.channelData)?.userID
            sendSubscription(id, answer, myID: myID, now: now)
        }
    }

    /// The application's server leaves out who joins a presence channel if the connection is signed in.
    mutating func joinAsUser(_ answer: AuthAnswer, _ id: EventRouter.ChannelID, now: MonotonicInstant) {
        if let signedIn = user.signedIn {
            sendSubscription(id, answer, myID: signedIn.id, now: now)
        } else if user.isOnItsWay {
            channels[id]?.state = .awaitingUser(answer)
        } else {
            authorizationFailed(
                id, AuthFailure("its answer has no channel_data, which a presence channel needs unless signed in"))
        }
    }

    private mutating func sendSubscription(
        _ id: EventRouter.ChannelID, _ answer: AuthAnswer?, myID: String? = nil, now: MonotonicInstant
    ) {
        guard let channel = channels[id] else { return }
        let deadline = now + configuration.subscriptionTimeout
        channels[id]?.state = .subscribing(deadline: deadline)
        channels[id]?.myID = myID
        subscriptionDeadlines.append(id, deadline: deadline)
        unanswered[ByteKey(channel.name.string), default: 0] += 1
        send(.subscribe(channel.name, auth: answer?.auth, channelData: answer?.channelData))
        if channel.name.kind == .encrypted {
            channels[id]?.key = answer?.channelKey
            openSealed(on: id, now: now)  // what waited for a newer key when the connection broke
        }
    }

    // MARK: The server's answer

    mutating func subscriptionSucceeded(_ event: RealtimeEvent, now: MonotonicInstant) {
        let isAwaited = answered(event)
        guard let (key, entry, channel) = channel(of: event) else { return }
        switch channel.state {
        case .leaving:
            send(.unsubscribe(channel.name))
            forget(entry.id, key)
        case .subscribed where !isAwaited: break  // once a connection is enough
        case .subscribing, .subscribed, .failed(mayBeSubscribed: true):
            channels[entry.id]?.state = .subscribed
            channels[entry.id]?.subscribedAt = now
            channels[entry.id]?.cache.subscribed()
            guard channel.name.kind != .serverToUser else { return }
            if channel.name.kind == .presence { replaceMembers(of: entry.id, with: event) }
            if !channel.isSubscribed { notices.append(.subscribed(entry.id, name: channel.name.string)) }
            // A second answer: the first was to an earlier subscription, which ended in between.
            if let start = channel.isSubscribed ? channel.subscribedAt : channel.missingSince {
                channels[entry.id]?.missingSince = nil
                notices.append(.gap(entry.id, name: channel.name.string, from: start, to: now))
            }
            notices.append(.event(event.renamed("pusher:subscription_succeeded"), entry.id))
            sendUnsentEvents(of: entry.id, now: now)
        case .idle, .queued, .authorizing, .retrying, .awaitingUser, .failed(mayBeSubscribed: false):
            break  // an answer to no question means nothing
        }
    }

    /// Says whether the server still owed an answer for the event's channel. After a time-out it may owe several.
    private mutating func answered(_ event: RealtimeEvent) -> Bool {
        guard let key = event.channelKey, let count = unanswered[key] else { return false }
        unanswered[key] = count > 1 ? count - 1 : nil
        return true
    }

    mutating func subscriptionFailed(_ event: RealtimeEvent, reason: String) {
        _ = answered(event)
        guard let (key, entry, channel) = channel(of: event) else { return }
        guard entry.isWanted else {
            forget(entry.id, key)
            return
        }
        guard channel.name.kind != .serverToUser else { return userChannelFailed(entry.id, reason: reason) }
        channels[entry.id]?.state = .failed(mayBeSubscribed: false)
        let error = PusherError(
            .subscriptionFailed, "the server refused the subscription: \(reason.prefix(200))",
            channelName: channel.name.string)
        channels[entry.id]?.failure = error
        notices.append(.subscriptionFailed(entry.id, error, nil, event: event.renamed("pusher:subscription_error")))
    }

    /// A `pusher:error` that names the channel of a subscription under way.
    mutating func subscriptionRefused(channelName: String, reason: String) {
        guard let entry = entries[ByteKey(channelName)], let channel = channels[entry.id], channel.deadline != nil
        else { return }
        let event = RealtimeEvent(
            name: "pusher:subscription_error", channel: channelName,
            data: #"{"type":"SubscriptionError","error":\#(JSON.quoted(reason))}"#)
        subscriptionFailed(event, reason: reason)
    }

    private mutating func authorizationFailed(_ id: EventRouter.ChannelID, _ failure: AuthFailure) {
        guard let channel = channels[id] else { return }
        channels[id]?.state = .failed(mayBeSubscribed: false)
        let error = PusherError(
            .authorizationFailed, code: failure.status, "authorization failed: \(failure.reason)",
            channelName: channel.name.string)
        dropSealed(on: id)
        notifyFailure(id, error, failure, type: "AuthError")
    }

    private mutating func retryAuthorization(
        of id: EventRouter.ChannelID, _ failure: AuthFailure, now: MonotonicInstant
    ) {
        guard let channel = channels[id] else { return }
        channels[id]?.state = .retrying
        channels[id]?.authRetries += 1
        authRetries.append(id, deadline: now + configuration.authRetryDelay)
        report(
            PusherError(
                .authorizationFailed, code: failure.status, "authorization failed: \(failure.reason)",
                channelName: channel.name.string, willRetry: true, retryAfter: configuration.authRetryDelay))
    }

    private mutating func notifyFailure(
        _ id: EventRouter.ChannelID, _ error: PusherError, _ failure: AuthFailure?, type: String
    ) {
        let status = failure?.status.map { #","status":\#($0)"# } ?? ""
        let event = RealtimeEvent(
            name: "pusher:subscription_error", channel: error.channelName,
            data: #"{"type":"\#(type)","error":\#(JSON.quoted(error.message))\#(status)}"#)
        channels[id]?.failure = error
        notices.append(.subscriptionFailed(id, error, failure, event: event))
    }

    // MARK: Time

    mutating func expireAuthorizations(now: MonotonicInstant) {
        while let request = authorizations.popOverdue(now: now) {
            actions.append(.cancelAuthorization(request))
            authAnswered(request, .failure(AuthFailure("there was no answer in time")), now: now)
        }
    }

    mutating func retryAuthorizations(now: MonotonicInstant) {
        while let (_, id) = authRetries.popDue(now: now) {
            guard channels[id]?.state == .retrying else { continue }  // left meanwhile
            channels[id]?.state = .queued
            authorizations.enqueue(id)
        }
        authorizeWaiting(now: now)
    }

    mutating func expireSubscriptions(now: MonotonicInstant) {
        while let (deadline, id) = subscriptionDeadlines.popDue(now: now) {
            guard let channel = channels[id], channel.deadline == deadline else { continue }  // answered meanwhile
            if channel.name.kind == .serverToUser {
                userChannelFailed(id, reason: "there was no answer in time", mayBeSubscribed: true)
            } else if channel.isWanted {
                channels[id]?.state = .failed(mayBeSubscribed: true)
                let error = PusherError(
                    .subscriptionFailed, "the server did not answer the subscription in time",
                    channelName: channel.name.string)
                notifyFailure(id, error, nil, type: "TimeoutError")
            } else {
                send(.unsubscribe(channel.name))
                forget(id, ByteKey(channel.name.string))
            }
        }
    }

    /// Answers may have been waiting all the time while nothing was read.
    mutating func restartSubscriptionDeadlines(now: MonotonicInstant) {
        subscriptionDeadlines.removeAll()
        let deadline = now + configuration.subscriptionTimeout
        for (id, channel) in channels.sorted(by: { $0.key < $1.key }) where channel.deadline != nil {
            channels[id]?.state = channel.isWanted ? .subscribing(deadline: deadline) : .leaving(deadline: deadline)
            subscriptionDeadlines.append(id, deadline: deadline)
        }
    }

    // MARK: Bookkeeping

    /// The connection is gone: wanted channels wait for the next, unwanted ones are forgotten.
    mutating func forgetSubscriptions() {
        for request in authorizations.removeAll() { actions.append(.cancelAuthorization(request)) }
        subscriptionDeadlines.removeAll()
        unanswered = [:]
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

    /// What the frame's channel means to us. Reports a name that was never heard of, once.
    mutating func channel(
        of event: RealtimeEvent
    ) -> (key: ByteKey, entry: Entry, channel: ChannelMachine)? {
        guard let key = event.channelKey, let entry = entries[key], let channel = channels[entry.id] else {
            reportUnknownChannel(of: event)
            return nil
        }
        return (key, entry, channel)
    }

    /// Takes back an unsubscription that could not be sent yet: the subscription under way serves the new channel, which
    /// inherits nothing else. What the old one has missed or received is nothing to it.
    private mutating func rejoin(_ old: Entry, _ key: ByteKey) -> EventRouter.ChannelID {
        let id = makeChannelID()
        if let former = channels.removeValue(forKey: old.id), case .leaving(let deadline) = former.state {
            var channel = ChannelMachine(name: former.name, id: id, givenAuth: nil)
            channel.state = .subscribing(deadline: deadline)
            channel.myID = former.myID
            channel.key = former.key
            channels[id] = channel
            subscriptionDeadlines.append(id, deadline: deadline)
        }
        entries[key]?.id = id
        entries[key]?.isWanted = true
        return id
    }

    mutating func forget(_ id: EventRouter.ChannelID, _ key: ByteKey) {
        cancelKeyRequest(of: id)
        channels[id] = nil
        entries[key] = nil
    }

    private mutating func makeChannelID() -> EventRouter.ChannelID {
        lastChannel += 1
        return EventRouter.ChannelID(number: lastChannel)
    }

    mutating func send(_ frame: ClientFrame) {
        guard let transport = connection.transport, socketID != nil else { return }
        actions.append(.send(transport, frame))
    }
}
