import Basics
import PusherProtocol

extension ApplicationState {
    /// Sends an event from the application's server to all subscribers but the excluded one; a cache channel keeps it.
    ///
    /// - Returns: The number of connections that it is sent to.
    @discardableResult
    mutating func publish(
        _ publication: Publication, from origin: PusherMockServer.PublishedEvent.Origin = .server,
        now: MonotonicInstant
    ) -> Int {
        let channel = publication.channel
        if let name = try? ChannelName(channel, as: profile), name.isCached {
            cache.keep(event: publication.event, data: publication.data, of: channel, now: now)
            toldMisses.remove(channel)
        }
        let subscribers = channels[channel].map { Array($0.subscribers.keys) } ?? []
        let excluded = publication.excluded
        let recipients = excluded == nil ? subscribers : subscribers.filter { $0 != excluded }
        logPublished(
            publication.event, on: channel, data: publication.data, from: origin, recipientCount: recipients.count)
        send(frames.event(publication.event, channel: channel, text: publication.data), to: recipients)
        return recipients.count
    }

    private mutating func logPublished(
        _ event: String, on channel: String, data: String, from origin: PusherMockServer.PublishedEvent.Origin,
        recipientCount: Int
    ) {
        log(
            .published(
                PusherMockServer.PublishedEvent(
                    event: event, channel: channel, data: data, app: app.key, origin: origin,
                    recipientCount: recipientCount)))
    }

    mutating func sendCachedEvent(of channel: String, to socketID: SocketID, now: MonotonicInstant) {
        if let entry = cache.entry(of: channel, now: now) {
            return send(frames.event(entry.event, channel: channel, text: entry.data), to: [socketID])
        }
        send(frames.cacheMiss(channel: channel), to: [socketID])
        if toldMisses.insert(channel) { tell(.cacheMiss(channel)) }
    }

    mutating func clientEvent(_ event: ClientMessage.ClientEvent, from socketID: SocketID, now: MonotonicInstant) {
        if profile.clientEventData == .structured, !event.isStructured {
            return reject("Malformed message: the data of a client event", from: socketID)
        }
        if let message = rejection(of: event, from: socketID) {
            return sendError(
                message, code: profile.clientEventRejectionCode, channel: event.channel, to: socketID)
        }
        guard connections[socketID]?.clientEvents.admits(now: now) == true else {
            return sendError(
                "Client event rejected due to rate limit", code: 4301, channel: event.channel, to: socketID)
        }
        guard let channel = channels[event.channel] else { return }
        let userID = channel.userID(of: socketID)
        let recipients = channel.subscribers.keys.filter { $0 != socketID }
        logPublished(
            event.name, on: event.channel, data: event.dataText ?? "",
            from: .client(socketID: socketID.string, userID: userID), recipientCount: recipients.count)
        send(frames.event(event.name, channel: event.channel, data: event.data, userID: userID), to: recipients)
        tell(
            .clientEvent(
                channel: event.channel, event: event.name, data: event.dataText, socketID: socketID.string,
                userID: userID))
    }

    private func rejection(of event: ClientMessage.ClientEvent, from socketID: SocketID) -> String? {
        guard let channel = channels[event.channel], channel.subscribers[socketID] != nil else {
            return "Cannot broadcast client event "
                + "(connection not subscribed to channel \(event.channel.prefix(200)))"
        }
        guard channel.name.allowsClientEvents else {
            return "Client event rejected - only supported on private and presence channels"
        }
        guard app.allowsClientEvents else {
            return "To send client events, you must enable this feature in the Settings page of your dashboard."
        }
        guard event.name.utf8.count <= Self.maximumEventNameLength else {
            return "The event name exceeds the allowed maximum (\(Self.maximumEventNameLength) characters)"
        }
        guard (event.dataText ?? "").utf8.count <= Self.maximumDataSize else {
            return "The data content of this event exceeds the allowed maximum (\(Self.maximumDataSize) bytes)"
        }
        return nil
    }
}
