/// A client's request in one text frame.
enum ClientMessage: Hashable {
    case ping
    case pong
    case subscribe(Subscription)
    case unsubscribe(channel: String)
    case signIn(auth: String?, userData: String?)
    case clientEvent(ClientEvent)
    case unsupported(event: String)

    struct Subscription: Hashable {
        var channel: String
        var auth: String?
        var channelData: String?
    }

    struct ClientEvent: Hashable {
        let name: String
        let channel: String
        /// JSON text as sent; `nil` if absent.
        let data: String?
        /// The text if `data` is a string, otherwise its JSON.
        let dataText: String?
        /// Whether `data` is an object, an array, null, absent, or a string that holds JSON.
        let isStructured: Bool
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
                Subscription(
                    channel: try Self.channel(in: data, event: event), auth: data.string("auth"),
                    channelData: data.string("channel_data")))
        case "pusher:unsubscribe":
            self = .unsubscribe(channel: try Self.channel(in: Self.data(of: frame, event: event), event: event))
        case "pusher:signin":
            let data = try Self.data(of: frame, event: event)
            self = .signIn(auth: data.string("auth"), userData: data.string("user_data"))
        case _ where event.utf8.starts(with: "client-".utf8):
            let data = frame.text("data")
            let text = frame.string("data")
            self = .clientEvent(
                ClientEvent(
                    name: event, channel: try Self.channel(in: frame, event: event), data: data,
                    dataText: text ?? data,
                    isStructured: text.map(JSONText.isJSON) ?? (data.map { "{[n".contains($0.prefix(1)) } ?? true)))
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
