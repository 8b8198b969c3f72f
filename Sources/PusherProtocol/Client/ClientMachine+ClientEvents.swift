package import Realtime

/// Events from client to client (Pusher protocol, "Triggering channel client events").
extension ClientMachine {
    /// Sends a client event, or keeps it until the subscription succeeds.
    ///
    /// - Parameter data: JSON text.
    /// - Throws: If the name, the channel or the number of waiting events forbids it; nothing is sent then.
    package mutating func trigger(
        _ event: String, data: String, on id: EventRouter.ChannelID
    ) throws(PusherError) {
        guard let channel = channels[id], channel.isWanted else {
            throw PusherError(.clientEventRejected, "“\(event.prefix(200))” was not sent: the channel is unsubscribed")
        }
        func rejected(_ reason: String) -> PusherError {
            PusherError(
                .clientEventRejected, "“\(event.prefix(200))” was not sent: \(reason)",
                channelName: channel.name.string)
        }
        guard event.hasPrefix("client-"), event.utf8.count > 7 else {
            throw rejected("the name of a client event starts with “client-”")
        }
        guard channel.name.allowsClientEvents else {
            throw rejected("only private and presence channels that are not encrypted carry client events")
        }
        guard !channel.isSubscribed else {
            send(.clientEvent(name: event, channel.name, data: data))
            return
        }
        guard channel.unsent.count < configuration.maximumUnsentEvents else {
            throw rejected("\(configuration.maximumUnsentEvents) events wait already for the subscription to succeed")
        }
        channels[id]?.unsent.append((event, data))
    }

    mutating func sendUnsentEvents(of id: EventRouter.ChannelID) {
        guard let channel = channels[id] else { return }
        channels[id]?.unsent = []
        for (event, data) in channel.unsent { send(.clientEvent(name: event, channel.name, data: data)) }
    }
}
