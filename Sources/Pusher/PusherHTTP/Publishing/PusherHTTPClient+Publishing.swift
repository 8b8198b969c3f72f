import PusherProtocol

extension PusherHTTPClient {
    /// Channels that one ``trigger(event:channels:data:socketID:info:)`` may name.
    public static let maximumChannels = 100
    /// Events that one ``triggerBatch(_:)`` may hold.
    public static let maximumBatch = 10

    /// Publishes an event on channels. For an encrypted channel, which then must be the only one, the data is encrypted.
    ///
    /// - Parameters:
    ///   - event: At most 200 bytes; `pusher:` and `pusher_internal:` are reserved.
    ///   - data: Any text; JSON by convention.
    ///   - socketID: A connection that does not get the event, usually the one that caused it.
    ///   - info: What to tell of the channels.
    /// - Returns: What `info` asked for, by channel; empty without it, and from a server that does not tell.
    @discardableResult
    public func trigger(
        event: String, channels: [String], data: String, socketID: String? = nil, info: Set<ChannelAttribute> = []
    ) async throws(PusherHTTPError) -> [String: ChannelInfo] {
        guard !channels.isEmpty, channels.count <= Self.maximumChannels else {
            throw PusherHTTPError(
                .invalidArgument, "an event goes to 1 to \(Self.maximumChannels) channels, not \(channels.count)")
        }
        var names: [ChannelName] = []
        for channel in channels { names.append(try ArgumentRules.channelName(channel)) }
        guard names.count == 1 || !names.contains(where: { $0.kind == .encrypted }) else {
            throw PusherHTTPError(.invalidArgument, "an event for an encrypted channel goes to that channel alone")
        }
        return try await publish(
            Publication(
                name: try ArgumentRules.eventName(event), channels: channels,
                data: try payload(data, for: names[0]), socket_id: try ArgumentRules.socketID(socketID),
                info: info.parameter))
    }

    /// Publishes a value as JSON on channels; otherwise as ``trigger(event:channels:data:socketID:info:)``.
    @discardableResult
    public func trigger(
        event: String, channels: [String], json value: some Encodable, socketID: String? = nil,
        info: Set<ChannelAttribute> = []
    ) async throws(PusherHTTPError) -> [String: ChannelInfo] {
        let data = try CallersJSON.encode(value, of: "the data")
        return try await trigger(event: event, channels: channels, data: data, socketID: socketID, info: info)
    }

    /// Publishes an event to every connection that is signed in as a user.
    ///
    /// - Parameter user: 1 to 200 of the characters that channel names have.
    public func trigger(event: String, toUser user: String, data: String) async throws(PusherHTTPError) {
        let channel = ChannelName.serverToUserPrefix + (try UserID(user).string)
        _ = try await publish(
            Publication(
                name: try ArgumentRules.eventName(event), channels: [channel],
                data: try ArgumentRules.data(data, atMost: maximumDataSize), socket_id: nil, info: nil))
    }

    /// Publishes a value as JSON to every connection that is signed in as a user.
    public func trigger(
        event: String, toUser user: String, json value: some Encodable
    ) async throws(PusherHTTPError) {
        try await trigger(event: event, toUser: user, data: try CallersJSON.encode(value, of: "the data"))
    }

    /// Publishes several events in one call, in order.
    ///
    /// - Returns: What each event's `info` asked for, in the order of the events; empty if none did, and from a server that
    ///   does not tell.
    @discardableResult
    public func triggerBatch(_ events: [BatchEvent]) async throws(PusherHTTPError) -> [ChannelInfo] {
        guard !events.isEmpty, events.count <= Self.maximumBatch else {
            throw PusherHTTPError(
                .invalidArgument, "a batch holds 1 to \(Self.maximumBatch) events, not \(events.count)")
        }
        var batch: [Batch.Event] = []
        for event in events {
            batch.append(
                Batch.Event(
                    name: try ArgumentRules.eventName(event.event), channel: event.channel,
                    data: try payload(event.data, for: try ArgumentRules.channelName(event.channel)),
                    socket_id: try ArgumentRules.socketID(event.socketID), info: event.info.parameter))
        }
        let answer = try await post("batch_events", Batch(batch: batch))
        guard events.contains(where: { !$0.info.isEmpty }) else { return [] }
        return (try? Self.decode(BatchAnswer.self, from: answer).batch) ?? []
    }

    // MARK: Wire

    private struct Publication: Encodable {
        let name: String
        let channels: [String]
        let data: String
        let socket_id: String?
        let info: String?
    }

    private struct Batch: Encodable {
        struct Event: Encodable {
            let name: String
            let channel: String
            let data: String
            let socket_id: String?
            let info: String?
        }

        let batch: [Event]
    }

    private struct BatchAnswer: Decodable {
        let batch: [ChannelInfo]
    }

    private func publish(_ publication: Publication) async throws(PusherHTTPError) -> [String: ChannelInfo] {
        let answer = try await post("events", publication)
        // It is published: an answer without the infos is no failure, which would make callers publish it again.
        return publication.info == nil ? [:] : (try? Self.decode(ChannelList.self, from: answer).channels) ?? [:]
    }

    /// What is sent for `data`: on an encrypted channel nobody but its members can read it.
    private func payload(_ data: String, for channel: ChannelName) throws(PusherHTTPError) -> String {
        guard channel.kind == .encrypted else { return try ArgumentRules.data(data, atMost: maximumDataSize) }
        let encrypted = try signer.key(of: channel).encrypt(data)
        return try ArgumentRules.data(encrypted, atMost: maximumDataSize)
    }
}
