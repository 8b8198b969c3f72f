/// What a client asked for in one text frame.
enum ClientMessage: Hashable {
    case ping
    case pong
    case subscribe(channel: String, auth: String?, channelData: String?)
    case unsubscribe(channel: String)
    case clientEvent(ClientEvent)
    case unsupported(event: String)

    struct ClientEvent: Hashable {
        let name: String
        let channel: String
        /// JSON text as it was sent; nil if absent.
        let data: String?
        /// Bytes of the text if `data` is a string, else of its JSON.
        let dataSize: Int
    }

    /// A frame that is not a message of the protocol.
    struct Malformed: Error, Hashable {
        let message: String
    }

    init(parsing text: String) throws(Malformed) {
        guard let frame = JSONObject(text) else {
            throw Malformed(message: "Malformed message: not a JSON object")
        }
        guard let event = frame.string("event") else {
            throw Malformed(message: "Malformed message: no event name")
        }
        switch event {
        case "pusher:ping": self = .ping
        case "pusher:pong": self = .pong
        case "pusher:subscribe":
            let data = try Self.data(of: frame, event: event)
            self = .subscribe(
                channel: try Self.channel(in: data, event: event), auth: data.string("auth"),
                channelData: data.string("channel_data"))
        case "pusher:unsubscribe":
            self = .unsubscribe(channel: try Self.channel(in: Self.data(of: frame, event: event), event: event))
        case _ where event.hasPrefix("client-"):
            let data = frame.text("data")
            self = .clientEvent(
                ClientEvent(
                    name: event, channel: try Self.channel(in: frame, event: event), data: data,
                    dataSize: (frame.string("data") ?? data ?? "").utf8.count))
        default: self = .unsupported(event: event)
        }
    }

    private static func data(of frame: JSONObject, event: String) throws(Malformed) -> JSONObject {
        guard let data = frame.object("data") else {
            throw Malformed(message: "Malformed message: the data of \(event) must be an object")
        }
        return data
    }

    private static func channel(in object: JSONObject, event: String) throws(Malformed) -> String {
        guard let channel = object.string("channel") else {
            throw Malformed(message: "Malformed message: \(event.prefix(200)) names no channel")
        }
        return channel
    }
}
