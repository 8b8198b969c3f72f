import PusherProtocol

/// `POST events` and `POST batch_events`.
extension HTTPAPI {
    static let maximumChannelCount = 100
    static let maximumBatchSize = 10

    /// One event of a request, checked.
    private struct Publication {
        let event: String
        let data: String
        let excluded: SocketID?
        let info: [ChannelAttribute]

        init(_ object: JSONObject) throws(APIFailure) {
            event = try Self.eventName(object.string("name"))
            guard let data = object.string("data") else { throw APIFailure(400, "data must be a string") }
            guard data.utf8.count <= ApplicationState.maximumDataSize else {
                throw APIFailure(
                    413,
                    "The data content of this event exceeds the allowed maximum "
                        + "(\(ApplicationState.maximumDataSize) bytes)")
            }
            self.data = data
            excluded = try Self.socketID(in: object)
            info = try ChannelAttribute.list(object.string("info"))
        }

        private static func eventName(_ name: String?) throws(APIFailure) -> String {
            guard let name, !name.isEmpty else { throw APIFailure(400, "name must be a string that is not empty") }
            guard name.utf8.count <= ApplicationState.maximumEventNameLength else {
                throw APIFailure(
                    400,
                    "The event name exceeds the allowed maximum "
                        + "(\(ApplicationState.maximumEventNameLength) characters)")
            }
            guard !name.hasPrefix("pusher:"), !name.hasPrefix("pusher_internal:") else {
                throw APIFailure(400, "Event names starting with pusher: or pusher_internal: are reserved")
            }
            return name
        }

        private static func socketID(in object: JSONObject) throws(APIFailure) -> SocketID? {
            guard object.has("socket_id"), !object.isNull("socket_id") else { return nil }
            guard let socketID = object.string("socket_id").flatMap(SocketID.init) else {
                throw APIFailure(400, "Invalid socket_id")
            }
            return socketID
        }
    }

    func postEvents(_ request: APIRequest) throws(APIFailure) -> Answer {
        let body = try Self.object(request)
        let publication = try Publication(body)
        let channels = try Self.channels(in: body)
        let deliveries = channels.map { delivery(of: publication, to: $0) }
        guard !publication.info.isEmpty else { return Answer(response: .json("{}"), deliveries: deliveries) }
        let infos = channels.map { ($0.string, publication.info.info(of: $0, in: application)) }
        let answer = JSONText.object([("channels", JSONText.object(infos))])
        return Answer(response: .json(answer), deliveries: deliveries)
    }

    /// All events of a batch are checked before any is published.
    func postBatch(_ request: APIRequest) throws(APIFailure) -> Answer {
        guard let batch = try Self.object(request).objects("batch"), !batch.isEmpty else {
            throw APIFailure(400, "batch must be an array of events")
        }
        guard batch.count <= Self.maximumBatchSize else {
            throw APIFailure(400, "A batch has at most \(Self.maximumBatchSize) events, this one has \(batch.count)")
        }
        var events: [(publication: Publication, channel: ChannelName)] = []
        for event in batch {
            guard let channel = event.string("channel") else { throw APIFailure(400, "channel must be a string") }
            events.append((try Publication(event), try Self.channelName(channel)))
        }
        let deliveries = events.map { delivery(of: $0.publication, to: $0.channel) }
        guard events.contains(where: { !$0.publication.info.isEmpty }) else {
            return Answer(response: .json("{}"), deliveries: deliveries)
        }
        let infos = events.map { $0.publication.info.info(of: $0.channel, in: application) }
        let answer = JSONText.object([("batch", JSONText.array(infos))])
        return Answer(response: .json(answer), deliveries: deliveries)
    }

    private func delivery(of publication: Publication, to channel: ChannelName) -> Delivery {
        application.publication(
            event: publication.event, channel: channel.string, data: publication.data, except: publication.excluded)
    }

    private static func object(_ request: APIRequest) throws(APIFailure) -> JSONObject {
        guard let object = JSONObject(request.bodyText) else { throw APIFailure(400, "The body is not a JSON object") }
        return object
    }

    /// `channels`, or the single `channel`; each once.
    private static func channels(in body: JSONObject) throws(APIFailure) -> [ChannelName] {
        let texts: [String]
        if let list = body.array("channels") {
            texts = list.compactMap { $0 as? String }
            guard texts.count == list.count else { throw APIFailure(400, "channels must be an array of strings") }
        } else {
            texts = [body.string("channel")].compactMap { $0 }
        }
        guard !texts.isEmpty else { throw APIFailure(400, "channels or channel is required") }
        guard texts.count <= maximumChannelCount else {
            throw APIFailure(
                400, "An event goes to at most \(maximumChannelCount) channels, this one to \(texts.count)")
        }
        var names: [ChannelName] = []
        for text in texts {
            let name = try channelName(text)
            if !names.contains(name) { names.append(name) }
        }
        guard names.count == 1 || !names.contains(where: { $0.kind == .encrypted }) else {
            throw APIFailure(400, "An event for an encrypted channel goes to that channel alone")
        }
        return names
    }
}
