import PusherProtocol

extension PusherHTTPClient {
    /// The maximum number of channels in one ``trigger(event:channels:data:socketID:info:)``.
    public static let maximumChannels = 100
    /// The maximum number of events in one ``triggerBatch(_:)``.
    public static let maximumBatch = 10

    /// Publishes an event on channels. Encrypts the data for an encrypted channel, which must then be the only channel.
    ///
    /// - Parameters:
    ///   - event: At most 200 bytes; `pusher:` and `pusher_internal:` are reserved.
    ///   - data: Any text; JSON by convention.
    ///   - socketID: A connection that does not receive the event, usually the one that caused it.
    ///   - info: The attributes of the channels to report.
    /// - Returns: The requested attributes by channel; empty without `info`, or if the server does not report them.
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

    /// Publishes a value as JSON on channels. Otherwise like ``trigger(event:channels:data:socketID:info:)``.
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
    /// - Parameter user: 1 to 200 of the characters allowed in channel names.
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
    /// - Returns: The attributes that each event's `info` requested, in the order of the events; empty if no event
    ///   requested any, or if the server does not report them.
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
        // The event is published. Don't fail if the answer lacks the attributes: callers would publish it again.
        return publication.info == nil ? [:] : (try? Self.decode(ChannelList.self, from: answer).channels) ?? [:]
    }

    /// Returns the payload to send for `data`: encrypted on an encrypted channel, so that only its members can read it.
    private func payload(_ data: String, for channel: ChannelName) throws(PusherHTTPError) -> String {
        guard channel.kind == .encrypted else { return try ArgumentRules.data(data, atMost: maximumDataSize) }
        let encrypted = try signer.key(of: channel).encrypt(data)
        return try ArgumentRules.data(encrypted, atMost: maximumDataSize)
    }
}
