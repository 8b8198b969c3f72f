import PusherProtocol

/// `POST events`, `POST batch_events` and the deprecated `POST channels/{name}/events`.
extension HTTPAPI {
    static let maximumChannelCount = 100
    static let maximumBatchSize = 10

    /// One validated event of a request.
    private struct Event {
        let name: String
        let data: String
        let excluded: SocketID?
        let info: [ChannelAttribute]

        init(_ object: JSONObject) throws(APIFailure) {
            name = try Self.name(object.string("name"))
            guard let data = object.string("data") else { throw APIFailure(400, "data must be a string") }
            self.data = try Self.checked(data)
            excluded = try Self.socketID(
                object.has("socket_id") && !object.isNull("socket_id") ? object.string("socket_id") ?? "" : nil)
            info = try ChannelAttribute.list(object.string("info"))
        }

        static func checked(_ data: String) throws(APIFailure) -> String {
            guard data.utf8.count <= ApplicationState.maximumDataSize else {
                throw APIFailure(
                    413,
                    "The data content of this event exceeds the allowed maximum "
                        + "(\(ApplicationState.maximumDataSize) bytes)")
            }
            return data
        }

        static func name(_ name: String?) throws(APIFailure) -> String {
            guard let name, !name.isEmpty else { throw APIFailure(400, "name must be a string that is not empty") }
            guard name.utf8.count <= ApplicationState.maximumEventNameLength else {
                throw APIFailure(
                    400,
                    "The event name exceeds the allowed maximum "
                        + "(\(ApplicationState.maximumEventNameLength) characters)")
            }
            // Compares bytes, as servers do: a combining mark after the colon would make it another character.
            guard !["pusher:", "pusher_internal:"].contains(where: { name.utf8.starts(with: $0.utf8) }) else {
                throw APIFailure(400, "Event names starting with pusher: or pusher_internal: are reserved")
            }
            return name
        }

        static func socketID(_ text: String?) throws(APIFailure) -> SocketID? {
            guard let text else { return nil }
            guard let socketID = SocketID(text) else { throw APIFailure(400, "Invalid socket_id") }
            return socketID
        }

        func publication(on channel: ChannelName) -> HTTPAPI.Command {
            .publish(Publication(event: name, channel: channel.string, data: data, excluded: excluded))
        }
    }

    func postEvents(_ request: APIRequest) throws(APIFailure) -> Answer {
        let body = try Self.object(request)
        let event = try Event(body)
        let channels = try channels(in: body)
        let commands = channels.map(event.publication)
        guard !event.info.isEmpty else { return Answer(response: .json("{}"), commands: commands) }
        let infos = channels.map { ($0.string, JSONText.object(info(event.info, of: $0))) }
        let answer = JSONText.object([("channels", JSONText.object(infos))])
        return Answer(response: .json(answer), commands: commands)
    }

    /// Deprecated: the body is the event's data, everything else is in the path and query.
    func postEvent(to text: String, _ request: APIRequest) throws(APIFailure) -> Answer {
        let channel = try Self.addressee(text, as: application.profile)
        let publication = Publication(
            event: try Event.name(request.target.parameter("name")), channel: channel.string,
            data: try Event.checked(request.bodyText),
            excluded: try Event.socketID(request.target.parameter("socket_id")))
        return Answer(response: APIResponse(status: 202, body: ""), commands: [.publish(publication)])
    }

    /// Checks all events of a batch before it publishes any.
    func postBatch(_ request: APIRequest) throws(APIFailure) -> Answer {
        guard let batch = try Self.object(request).objects("batch"), !batch.isEmpty else {
            throw APIFailure(400, "batch must be an array of events")
        }
        guard batch.count <= Self.maximumBatchSize else {
            throw APIFailure(400, "A batch has at most \(Self.maximumBatchSize) events, this one has \(batch.count)")
        }
        var events: [(event: Event, channel: ChannelName)] = []
        for event in batch {
            guard let channel = event.string("channel") else { throw APIFailure(400, "channel must be a string") }
            events.append((try Event(event), try Self.addressee(channel, as: application.profile)))
        }
        let commands = events.map { $0.event.publication(on: $0.channel) }
        guard events.contains(where: { !$0.event.info.isEmpty }) else {
            return Answer(response: .json("{}"), commands: commands)
        }
        let infos = events.map { JSONText.object(info($0.event.info, of: $0.channel)) }
        let answer = JSONText.object([("batch", JSONText.array(infos))])
        return Answer(response: .json(answer), commands: commands)
    }

    private static func object(_ request: APIRequest) throws(APIFailure) -> JSONObject {
        guard let object = JSONObject(request.bodyText) else { throw APIFailure(400, "The body is not a JSON object") }
        return object
    }

    /// Returns `channels`, or the single `channel`; each once.
    private func channels(in body: JSONObject) throws(APIFailure) -> [ChannelName] {
        let texts: [String]
        if let list = body.array("channels") {
            texts = list.compactMap { $0 as? String }
            guard texts.count == list.count else { throw APIFailure(400, "channels must be an array of strings") }
        } else {
            texts = [body.string("channel")].compactMap { $0 }
        }
        guard !texts.isEmpty else { throw APIFailure(400, "channels or channel is required") }
        guard texts.count <= Self.maximumChannelCount else {
            throw APIFailure(
                400, "An event goes to at most \(Self.maximumChannelCount) channels, this one to \(texts.count)")
        }
        var names: [ChannelName] = []
        for text in texts {
            let name = try Self.addressee(text, as: application.profile)
            if !names.contains(name) { names.append(name) }
        }
        guard names.count == 1 || !names.contains(where: { $0.kind == .encrypted }) else {
            throw APIFailure(400, "An event for an encrypted channel goes to that channel alone")
        }
        return names
    }
}
