package import Basics
package import Realtime

/// Events from client to client (Pusher protocol, "Triggering channel client events").
extension ClientMachine {
    /// The maximum bytes of a client event's data, as JSON text.
    package static let maximumClientEventSize = 10_240
    /// The maximum bytes of a client event's name.
    package static let maximumEventNameLength = 200

    /// Sends a client event, or queues it until the subscription succeeds and the rate limit allows it.
    ///
    /// - Parameter data: JSON text.
    /// - Throws: If the name, the channel, the size or the number of waiting events forbids it; nothing is sent then.
    package mutating func trigger(
        _ event: String, data: String, on id: EventRouter.ChannelID, now: MonotonicInstant
    ) throws(PusherError) {
        guard let channel = channels[id], channel.isWanted else {
            throw PusherError(.clientEventRejected, "“\(event.prefix(200))” was not sent: the channel is unsubscribed")
        }
        func rejected(_ reason: String) -> PusherError {
            PusherError(
                .clientEventRejected, "“\(event.prefix(200))” was not sent: \(reason)",
                channelName: channel.name.string)
        }
        guard event.utf8.starts(with: "client-".utf8), event.utf8.count > 7 else {
            throw rejected("the name of a client event starts with “client-”")
        }
        guard event.utf8.count <= Self.maximumEventNameLength else {
            throw rejected(
                "its name has \(event.utf8.count) bytes, at most \(Self.maximumEventNameLength) are allowed")
        }
        guard data.utf8.count <= Self.maximumClientEventSize else {
            throw rejected(
                "its data has \(data.utf8.count) bytes, at most \(Self.maximumClientEventSize) are allowed")
        }
        guard channel.name.allowsClientEvents else {
            throw rejected("only private and presence channels that are not encrypted carry client events")
        }
        guard channel.isSubscribed else {
            keepThrottledEvents(of: id)
            let unsentCount = channels[id]?.unsent.count ?? 0
            guard unsentCount < configuration.maximumUnsentEvents else {
                throw rejected(
                    "\(configuration.maximumUnsentEvents) events wait already for the subscription to succeed")
            }
            channels[id]?.unsent.append((event, data))
            return
        }
        guard clientEvents.waitingCount < configuration.maximumUnsentEvents else {
            throw rejected("\(configuration.maximumUnsentEvents) events wait already for the rate limit")
        }
        clientEvents.append(id, event, data)
        sendThrottledEvents(now: now)
    }

    mutating func sendUnsentEvents(of id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard let channel = channels[id] else { return }
        channels[id]?.unsent = []
        for (event, data) in channel.unsent { clientEvents.append(id, event, data) }
        sendThrottledEvents(now: now)
    }

    /// Sends the queued events in order, as far as the rate limit allows.
    mutating func sendThrottledEvents(now: MonotonicInstant) {
        while let (id, event, data) = clientEvents.first {
            guard let channel = channels[id], channel.isSubscribed else {  // failed meanwhile
                clientEvents.removeFirst()
                channels[id]?.unsent.append((event, data))
                continue
            }
            guard clientEvents.admits(limit: configuration.clientEventRateLimit, now: now) else { return }
            clientEvents.removeFirst()
            send(.clientEvent(name: event, channel.name, data: data))
        }
    }

    /// Discards the events of a channel that the application leaves before they could be sent.
    mutating func discardClientEvents(of id: EventRouter.ChannelID) {
        let count = (channels[id]?.unsent.count ?? 0) + clientEvents.remove(id).count
        channels[id]?.unsent = []
        guard count > 0 else { return }
        report(
            PusherError(
                .clientEventRejected, "\(count) client events were not sent: the channel was unsubscribed",
                channelName: channels[id]?.name.string))
    }

    /// After the connection is lost, keeps the events that the rate limit delayed for the next subscription, ahead of
    /// later ones.
    mutating func keepThrottledEvents() {
        for (id, event, data) in clientEvents.removeAll().reversed() {
            channels[id]?.unsent.insert((event, data), at: 0)
        }
    }

    /// Does the same for one channel, whose subscription has ended.
    private mutating func keepThrottledEvents(of id: EventRouter.ChannelID) {
        let events = clientEvents.remove(id).map { ($0.event, $0.data) }
        channels[id]?.unsent.insert(contentsOf: events, at: 0)
    }
}

/// Delays client events to keep within the server's limit per second (it would answer 4301).
struct ClientEventThrottle: Sendable {
    private static let window = Duration.seconds(1)

    private var waiting: [(id: EventRouter.ChannelID, event: String, data: String)] = []
    /// The times at which the last events were sent, oldest first.
    private var sent: [MonotonicInstant] = []

    var waitingCount: Int { waiting.count }

    /// The time at which the next event may be sent.
    var nextDeadline: MonotonicInstant? { waiting.isEmpty ? nil : sent.first.map { $0 + Self.window } }

    mutating func append(_ id: EventRouter.ChannelID, _ event: String, _ data: String) {
        waiting.append((id, event, data))
    }

    var first: (id: EventRouter.ChannelID, event: String, data: String)? { waiting.first }

    mutating func removeFirst() {
        waiting.removeFirst()
    }

    /// Returns whether one more event may be sent now, and counts it as sent if so.
    mutating func admits(limit: Int?, now: MonotonicInstant) -> Bool {
        guard let limit else { return true }
        sent.removeAll { now - $0 >= Self.window }
        guard sent.count < max(limit, 1) else { return false }
        sent.append(now)
        return true
    }

    /// Removes the events of a channel and returns them.
    mutating func remove(_ id: EventRouter.ChannelID) -> [(id: EventRouter.ChannelID, event: String, data: String)] {
        defer { waiting.removeAll { $0.id == id } }
        return waiting.filter { $0.id == id }
    }

    /// Removes everything and returns the queued events.
    mutating func removeAll() -> [(id: EventRouter.ChannelID, event: String, data: String)] {
        defer { self = ClientEventThrottle() }
        return waiting
    }
}
