import Basics
import PusherProtocol
import Realtime

/// The state and the answers of a correct server. It outlives its connections.
struct PusherServer {
    /// A message of a client.
    enum Request {
        case ping, pong
        case subscribe(String, auth: String?, channelData: String?)
        case unsubscribe(String)
        case signIn(auth: String, userData: String)
        case clientEvent(String, channel: String, data: String)
    }

    struct Connection {
        let socketID: SocketID
        /// By channel, with the user ID on presence channels.
        var subscriptions: [String: String?] = [:]
        var user: String?
        /// Channels whose subscription was refused: the client may treat them as it likes.
        var refused: Set<String> = []
        var lastClientEvent: [String: Int] = [:]
    }

    struct Channel {
        /// The number of the last published event.
        var number = 0
        var cached: String?
        var keyVersion = 1
        /// Members on other connections.
        var peers: Set<String> = []
    }

    static let credentials = AppCredentials(key: "key", secret: "secret")
    static let userData = #"{"id":"me"}"#

    private(set) var connections: [Int: Connection] = [:]
    private(set) var channels: [String: Channel] = [:]
    private var lastSocket = 0
    /// Pending frames with their connections, in order.
    var outbox: [(link: Int, frame: String)] = []
    /// Requests that a correct client never sends.
    var complaints: [String] = []
    private(set) var oldSockets: [SocketID] = []

    func subscribers(of channel: String) -> [Int] {
        connections.filter { $0.value.subscriptions[channel] != nil }.keys.sorted()
    }

    func members(of channel: String) -> Set<String> {
        (channels[channel]?.peers ?? []).union(
            connections.values.compactMap { $0.subscriptions[channel] ?? nil })
    }

    static func key(of channel: String, version: Int) -> ChannelKey? {
        ChannelKey(Digest.sha256(Array("\(channel) \(version)".utf8)))
    }

    func key(of channel: String) -> ChannelKey? {
        Self.key(of: channel, version: channels[channel]?.keyVersion ?? 1)
    }

    // MARK: Connections

    mutating func accept(_ link: Int, activityTimeout: Int?) {
        lastSocket += 1
        guard let socketID = SocketID("\(lastSocket).\(link)") else { return }
        connections[link] = Connection(socketID: socketID)
        oldSockets.append(socketID)
        let timeout = activityTimeout.map { #",\"activity_timeout\":\#($0)"# } ?? ""
        send(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\"\#(timeout)}"}"#, link)
    }

    mutating func lost(_ link: Int) {
        guard let connection = connections[link] else { return }
        for channel in connection.subscriptions.keys.sorted() { leave(channel, link) }
        connections[link] = nil
    }

    mutating func forgetAllConnections() {
        connections = [:]
    }

    // MARK: Requests

    mutating func received(_ request: Request, on link: Int) {
        guard connections[link] != nil else { return }
        switch request {
        case .ping: send(#"{"event":"pusher:pong","data":"{}"}"#, link)
        case .pong: break
        case .subscribe(let channel, let auth, let data): subscribe(link, channel, auth: auth, channelData: data)
        case .unsubscribe(let channel):
            if connections[link]?.subscriptions[channel] != nil {
                leave(channel, link)
            } else if connections[link]?.refused.contains(channel) != true {
                complain("No current subscription to \(channel)", link)
            }
        case .signIn(let auth, let userData): signIn(link, auth: auth, userData: userData)
        case .clientEvent(_, let channel, let data): clientEvent(link, channel, data: data)
        }
    }

    private mutating func subscribe(_ link: Int, _ channel: String, auth: String?, channelData: String?) {
        guard let connection = connections[link], let name = try? ChannelName(channel) else { return }
        guard connection.subscriptions[channel] == nil else {
            return complain("Existing subscription to \(channel)", link)
        }
        if name.kind == .serverToUser, name.string != ChannelName.serverToUserPrefix + (connection.user ?? "") {
            return complain("\(channel) belongs to another user", link)
        }
        if name.needsAuthorization,
            !Self.credentials.accepts(
                channelAuth: auth ?? "", socketID: connection.socketID, channel: name, channelData: channelData)
        {
            connections[link]?.refused.insert(channel)
            return send(#"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature"}}"#, link)
        }
        var user: String?
        if name.kind == .presence {
            user = PresenceMembers.Member(data: channelData)?.userID ?? connection.user
            guard user != nil else { return complain("nobody joins \(channel)", link) }
        }
        connections[link]?.subscriptions[channel] = .some(user)
        succeeded(name, link)
    }

    private mutating func succeeded(_ name: ChannelName, _ link: Int) {
        let channel = name.string
        var data = "{}"
        if name.kind == .presence {
            let members = members(of: channel).sorted()
            let ids = members.map { #"\"\#($0)\""# }.joined(separator: ",")
            let hash = members.map { #"\"\#($0)\":null"# }.joined(separator: ",")
            data = #"{\"presence\":{\"ids\":[\#(ids)],\"hash\":{\#(hash)},\"count\":\#(members.count)}}"#
        }
        let success = "pusher_internal:subscription_succeeded"
        send(#"{"event":"\#(success)","channel":"\#(channel)","data":"\#(data)"}"#, link)
        if name.isCached {
            send(channels[channel]?.cached ?? #"{"event":"pusher:cache_miss","channel":"\#(channel)"}"#, link)
        }
        countChanged(channel)
    }

    private mutating func leave(_ channel: String, _ link: Int) {
        connections[link]?.subscriptions[channel] = nil
        countChanged(channel)
    }

    private mutating func countChanged(_ channel: String) {
        guard !channel.hasPrefix("presence-"), !channel.hasPrefix("#") else { return }
        let subscribers = subscribers(of: channel)
        for link in subscribers {
            send(
                #"{"event":"pusher_internal:subscription_count","channel":"\#(channel)","#
                    + #""data":"{\"subscription_count\":\#(subscribers.count)}"}"#, link)
        }
    }

    private mutating func signIn(_ link: Int, auth: String, userData: String) {
        guard let connection = connections[link] else { return }
        guard Self.credentials.accepts(userAuth: auth, socketID: connection.socketID, userData: userData) else {
            return send(#"{"event":"pusher:error","data":{"code":null,"message":"Invalid signature"}}"#, link)
        }
        connections[link]?.user = "me"
        send(#"{"event":"pusher:signin_success","data":"{\"user_data\":\"{\\\"id\\\":\\\"me\\\"}\"}"}"#, link)
    }

    private mutating func clientEvent(_ link: Int, _ channel: String, data: String) {
        guard let number = Int(data), let connection = connections[link] else { return }
        guard connection.subscriptions[channel] != nil else {
            if !connection.refused.contains(channel) { complain("client event on \(channel)", link) }
            return
        }
        guard number > connection.lastClientEvent[channel] ?? 0 else {
            complaints.append("client event \(number) of \(channel) came after \(connection.lastClientEvent)")
            return
        }
        connections[link]?.lastClientEvent[channel] = number
    }

    private mutating func complain(_ message: String, _ link: Int) {
        complaints.append(message)
        send(#"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#, link)
    }

    // MARK: Other clients

    mutating func publish(_ channel: String, nonce: [UInt8]) {
        channels[channel, default: Channel()].number += 1
        let number = channels[channel]?.number ?? 0
        var data = "d\(number)"
        if channel.hasPrefix("private-encrypted-") {
            data = (key(of: channel)?.encrypt(data, nonce: nonce) ?? "").replacing("\"", with: "\\\"")
        }
        let frame = #"{"event":"e\#(number)","channel":"\#(channel)","data":"\#(data)"}"#
        if channel.contains("cache-") { channels[channel]?.cached = frame }
        for link in subscribers(of: channel) { send(frame, link) }
    }

    mutating func rotateKey(of channel: String) {
        channels[channel, default: Channel()].keyVersion += 1
    }

    /// Another user joins or leaves a presence channel.
    mutating func peer(_ user: String, on channel: String, joins: Bool) {
        guard joins != members(of: channel).contains(user) else { return }
        if joins {
            channels[channel, default: Channel()].peers.insert(user)
        } else {
            channels[channel]?.peers.remove(user)
        }
        let name = joins ? "pusher_internal:member_added" : "pusher_internal:member_removed"
        for link in subscribers(of: channel) {
            send(#"{"event":"\#(name)","channel":"\#(channel)","data":"{\"user_id\":\"\#(user)\"}"}"#, link)
        }
    }

    mutating func send(_ frame: String, _ link: Int) {
        outbox.append((link, frame))
    }
}
