import Basics
import PusherProtocol

extension ApplicationState {
    mutating func subscribe(_ socketID: SocketID, _ request: ClientMessage.Subscription, now: MonotonicInstant) {
        do {
            let name = try authorizedChannel(request, socketID: socketID)
            let member = try member(of: name, channelData: request.channelData)
            if let channel = channels[name.string], channel.subscribers[socketID] != nil {
                return send(frames.subscriptionSucceeded(channel), to: [socketID])
            }
            join(name, socketID, as: member, now: now)
        } catch {
            refuse(error, channel: request.channel, to: socketID)
        }
    }

    private mutating func refuse(_ refusal: SubscriptionRefusal, channel: String, to socketID: SocketID) {
        log(.subscriptionRefused(channel: channel, socketID: socketID.string, reason: refusal.summary))
        switch profile.subscriptionRefusal {
        case .error: sendError(refusal.message, to: socketID)
        case .subscriptionError: send(frames.subscriptionError(refusal, channel: channel), to: [socketID])
        case .unauthorized:
            switch refusal.reason {
            case .unauthorized: sendError("Connection is unauthorized", code: 4009, to: socketID)
            case .limit, .malformed: sendError("Invalid message format", code: 4200, to: socketID)
            }
        }
    }

    // MARK: Permission to subscribe

    private func authorizedChannel(
        _ request: ClientMessage.Subscription, socketID: SocketID
    ) throws(SubscriptionRefusal) -> ChannelName {
        let name: ChannelName
        do {
            name = try ChannelName(request.channel, as: profile)
        } catch {
            let isTooLong = request.channel.utf8.count > ChannelName.maximumLength
            throw SubscriptionRefusal(isTooLong ? .limit(4009) : .malformed, "Invalid channel name: \(error)")
        }
        if name.kind == .serverToUser {
            let user = connections[socketID]?.user?.id
            guard let user, ByteKey(name.string) == ByteKey(ChannelName.serverToUserPrefix + user) else {
                throw SubscriptionRefusal(.unauthorized, "Invalid channel name: \(name) is for internal use")
            }
        }
        if profile.refusesSecondSubscription, channels[name.string]?.subscribers[socketID] != nil {
            throw SubscriptionRefusal(.malformed, "Existing subscription to channel \(name)")
        }
        if name.needsAuthorization { try authorize(request, socketID: socketID, channel: name) }
        return name
    }

    private func authorize(
        _ request: ClientMessage.Subscription, socketID: SocketID, channel: ChannelName
    ) throws(SubscriptionRefusal) {
        guard let auth = request.auth, !auth.isEmpty else {
            throw SubscriptionRefusal(.unauthorized, "Auth info required to subscribe to \(channel)")
        }
        let parts = auth.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let signature = parts.count == 2 ? parts[1] : ""
        guard parts[0] == credentials.key || !profile.checksKeyOfAuth else {
            throw SubscriptionRefusal(
                .unauthorized, "Invalid key in subscription auth data: '\(parts[0].prefix(200))'",
                summary: "Invalid key in subscription auth data")
        }
        guard
            credentials.accepts(
                channelAuth: "\(credentials.key):\(signature)", socketID: socketID, channel: channel,
                channelData: request.channelData)
        else {
            let signed = ([socketID.string, channel.string] + [request.channelData].compactMap { $0 })
                .joined(separator: ":")
            throw SubscriptionRefusal(
                .unauthorized,
                "Invalid signature: Expected HMAC SHA256 hex digest of \(signed), but got \(signature.prefix(200))",
                summary: "Invalid signature")
        }
    }

    private func member(of name: ChannelName, channelData: String?) throws(SubscriptionRefusal) -> PresenceMember? {
        guard name.kind == .presence else { return nil }
        if profile.admitsWithoutUserID, channelData.map({ JSONObject($0)?.has("user_id") == false }) ?? true {
            return nil
        }
        let member = try PresenceMember(channelData: channelData, channel: name.string)
        if let channel = channels[name.string], channel.isFull(for: member.userID) {
            throw SubscriptionRefusal(
                .limit(4100),
                "Presence channel \(name) has the allowed maximum of \(ChannelState.maximumMemberCount) members")
        }
        return member
    }

    // MARK: Joining and leaving

    private mutating func join(
        _ name: ChannelName, _ socketID: SocketID, as member: PresenceMember?, now: MonotonicInstant
    ) {
        let isOccupied = channels[name.string] != nil
        var channel = channels.removeValue(forKey: name.string) ?? ChannelState(name: name)
        let others = Array(channel.subscribers.keys)
        let isFirstOfUser = channel.join(socketID, as: member)
        channels[name.string] = channel
        connections[socketID]?.channels.insert(name.string)
        if name.needsAuthorization { connections[socketID]?.authorizationDeadline = nil }

        send(frames.subscriptionSucceeded(channel), to: [socketID])
        log(.subscribed(channel: name.string, socketID: socketID.string))
        if name.kind != .serverToUser, !isOccupied {
            arrived(.channelOccupied(name.string), after: .channelVacated(name.string))
        }
        if name.isCached { sendCachedEvent(of: name.string, to: socketID, now: now) }
        if let member, isFirstOfUser {
            send(frames.memberAdded(member, channel: name.string), to: others)
            arrived(
                .memberAdded(channel: name.string, userID: ByteKey(member.userID)),
                after: .memberRemoved(channel: name.string, userID: ByteKey(member.userID)))
        }
        countChanged(of: name, now: now)
    }

    mutating func unsubscribe(_ socketID: SocketID, from name: String, now: MonotonicInstant) {
        guard connections[socketID]?.channels.remove(name) == true else {
            guard profile.subscriptionRefusal == .error else { return }
            return sendError(
                "No current subscription to channel \(name.prefix(200)), or subscription in progress", to: socketID)
        }
        leave(name, socketID, now: now)
    }

    mutating func leave(_ name: String, _ socketID: SocketID, now: MonotonicInstant) {
        guard var channel = channels.removeValue(forKey: name) else { return }
        let goneUser = channel.leave(socketID)
        log(.unsubscribed(channel: name, socketID: socketID.string))
        if !channel.subscribers.isEmpty { channels[name] = channel }
        if let goneUser {
            send(frames.memberRemoved(userID: goneUser, channel: name), to: Array(channel.subscribers.keys))
            left(.memberRemoved(channel: name, userID: ByteKey(goneUser)), now: now)
        }
        if channel.subscribers.isEmpty {
            toldMisses.remove(name)
            if channel.name.kind != .serverToUser { left(.channelVacated(name), now: now) }
        }
        countChanged(of: channel.name, now: now)
    }

    private mutating func arrived(_ event: WebhookEvent, after departure: WebhookEvent) {
        if !departures.takeBack(departure) { tell(event) }
    }

    private mutating func left(_ event: WebhookEvent, now: MonotonicInstant) {
        guard app.webhooks != nil else { return }
        departures.left(event, now: now)
        for event in departures.takeDue(now: now) { tell(event) }
    }

    // MARK: Subscription counts

    private mutating func countChanged(of name: ChannelName, now: MonotonicInstant) {
        guard app.sendsSubscriptionCounts, name.kind != .presence, name.kind != .serverToUser else { return }
        let count = channels[name.string]?.subscribers.count ?? 0
        if counts.countChanged(to: count, of: name.string, now: now) { tellCount(of: name.string) }
    }

    mutating func tellCount(of name: String) {
        let subscribers = channels[name].map { Array($0.subscribers.keys) } ?? []
        send(frames.subscriptionCount(subscribers.count, channel: name), to: subscribers)
        tell(.subscriptionCount(channel: name, count: subscribers.count))
    }
}
