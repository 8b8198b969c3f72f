import PusherProtocol

extension PusherServer.Request {
    init(_ frame: ClientFrame) {
        switch frame {
        case .ping: self = .ping
        case .pong: self = .pong
        case .subscribe(let channel, let auth, let channelData):
            self = .subscribe(channel.string, auth: auth, channelData: channelData)
        case .unsubscribe(let channel): self = .unsubscribe(channel.string)
        case .signIn(let auth, let userData): self = .signIn(auth: auth, userData: userData)
        case .clientEvent(let name, let channel, let data):
            self = .clientEvent(name, channel: channel.string, data: data)
        }
    }

    /// Parses a frame's text. Returns `nil` if a client may not send it.
    init?(text: String) {
        guard let object = JSON.object(text), let event = object["event"] as? String else { return nil }
        let data = object["data"] as? [String: Any] ?? [:]
        func member(_ key: String) -> String? { data[key] as? String }
        switch event {
        case "pusher:ping": self = .ping
        case "pusher:pong": self = .pong
        case "pusher:subscribe":
            self = .subscribe(member("channel") ?? "", auth: member("auth"), channelData: member("channel_data"))
        case "pusher:unsubscribe": self = .unsubscribe(member("channel") ?? "")
        case "pusher:signin": self = .signIn(auth: member("auth") ?? "", userData: member("user_data") ?? "")
        default:
            guard event.hasPrefix("client-"), let channel = object["channel"] as? String else { return nil }
            self = .clientEvent(event, channel: channel, data: JSON.integer(object["data"]).map { "\($0)" } ?? "")
        }
    }
}
