import CurlTransport
import PusherProtocol
import Realtime

/// Guarantees for the application: order, completeness, and silence after `unsubscribe`.
extension PusherSimulation {
    func received(_ delivery: Application.Delivery) {
        check(!application.isShutDown, "an event is delivered after the client is gone")
        guard case .channel(let id) = delivery.binding else { return }
        statistics.count(.events)
        guard var subscription = application.subscriptions[id], subscription.isLive else {
            return check(false, "\(delivery.event) is delivered after unsubscribe has returned")
        }
        log("delivered: \(delivery.event)")
        check(!subscription.gapMustBeTold, "a gap on \(PusherSchedule.channels[subscription.channel]) is not reported")
        if let number = delivery.event.number {
            check(delivery.event.data == "d\(number)", "\(delivery.event) has other data than was published")
            take(number, isLive: delivery.event.origin == .live, of: &subscription)
        }
        application.subscriptions[id] = subscription
    }

    private func take(_ number: Int, isLive: Bool, of subscription: inout Application.Subscription) {
        let name = PusherSchedule.channels[subscription.channel]
        if !isLive {
            statistics.count(.cachedEvents)
            check(number >= subscription.lastNumber, "kept event \(number) of \(name) comes after a newer one")
            check(
                !subscription.isContiguous || subscription.jumpsAhead > 0,
                "kept event \(number) of \(name) comes after others")
        } else if subscription.isContiguous {
            var expected = subscription.lastNumber + 1
            // A kept copy may be reported as lost while the event itself is pending for its key, and arrives later.
            while expected < number, subscription.lost.contains(expected) { expected += 1 }
            if number > expected, subscription.jumpsAhead > 0 {
                subscription.jumpsAhead -= 1
                expected = number
            }
            check(number == expected, "event \(number) of \(name) comes where \(expected) should")
        } else {
            check(number > subscription.lastNumber, "event \(number) of \(name) comes again, or out of order")
        }
        subscription.lastNumber = number
        subscription.isContiguous = true
    }

    func subscribed(_ id: EventRouter.ChannelID) {
        guard var subscription = application.subscriptions[id] else { return }
        check(!subscription.isSubscribed, "a subscription is told twice")
        subscription.isSubscribed = true
        subscription.isContiguous = false
        subscription.gapMustBeTold = subscription.isMissing
        application.subscriptions[id] = subscription
    }

    func connectionEndTold() {
        for (id, subscription) in application.subscriptions where subscription.isLive && subscription.isSubscribed {
            application.subscriptions[id]?.isSubscribed = false
            application.subscriptions[id]?.isMissing = true
        }
    }

    func gapTold(_ id: EventRouter.ChannelID) {
        guard var subscription = application.subscriptions[id] else { return }
        let name = PusherSchedule.channels[subscription.channel]
        // A late answer to an earlier attempt causes a gap before the answer to the later one.
        check(subscription.isMissing || ledger.attempts[name] ?? 0 > 1, "a gap of \(name) where nothing was missed")
        subscription.isMissing = false
        subscription.gapMustBeTold = false
        subscription.isContiguous = false
        if name.hasPrefix("private-encrypted-") { subscription.jumpsAhead += 1 }
        application.subscriptions[id] = subscription
    }

    func decryptionFailed(_ event: RealtimeEvent, _ id: EventRouter.ChannelID) {
        guard let number = event.number else { return }
        application.subscriptions[id]?.lost.insert(number)
    }

    // MARK: At rest

    func compareConnection() {
        let isExpected = application.wantsConnection && !ledger.hasStopped
        check(
            machine.connectionState == (isExpected ? .connected : .disconnected),
            "at rest it is \(machine.connectionState), though \(isExpected ? "" : "no ")connection is wanted")
        guard isExpected else { return }
        check(server.connections.count <= 1, "the server has \(server.connections.count) connections")
    }

    func compareSubscriptions() {
        check(ledger.undecryptable == ledger.undecryptableErrors, "failed decryptions are not reported once each")
        check(ledger.malformedMessages == ledger.malformedErrors, "malformed messages are not reported once each")
        guard machine.connectionState == .connected, let link = transport?.link,
            let connection = server.connections[link.number]
        else { return check(machine.connectionState != .connected, "the server does not know of the connection") }
        let wanted = Set(application.wanted.keys.map { PusherSchedule.channels[$0] })
        let there = Set(connection.subscriptions.keys.filter { !$0.hasPrefix("#") })
        check(there == wanted, "the server has \(there.sorted()), wanted are \(wanted.sorted())")
        check(Set(machine.channelNames) == wanted, "the client wants \(machine.channelNames), not \(wanted.sorted())")
        if application.wantsSignIn {
            check(machine.signedInUser?.id == "me", "it is not signed in")
            check(connection.subscriptions["#server-to-user-me"] != nil, "the user's channel is not subscribed")
        }
        for (channel, id) in application.wanted { compare(channel, id) }
    }

    private func compare(_ channel: Int, _ id: EventRouter.ChannelID) {
        let name = PusherSchedule.channels[channel]
        check(machine.isSubscribed(id), "\(name) is subscribed, and the client does not know it")
        let delivered = application.subscriptions[id]?.lastNumber
        let published = server.channels[name]?.number
        check(delivered == published, "\(name): \(delivered ?? 0) events of \(published ?? 0) have come")
        if name.hasPrefix("presence-") {
            let members = Set(machine.members(of: id).all.map(\.userID))
            check(members == server.members(of: name), "\(name) has other members than the server says")
        } else {
            let count = server.subscribers(of: name).count
            check(
                machine.subscriptionCount(of: id) == count,
                "\(name) has \(count) subscribers, the client thinks otherwise")
        }
    }
}

extension RealtimeEvent {
    /// The number of a numbered event.
    var number: Int? { eventName.hasPrefix("e") ? Int(eventName.dropFirst()) : nil }
}
