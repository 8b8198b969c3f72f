import PusherSwift

// Written like programs for versions 5 to 10 of the library: plain classes, no Sendable, no async.

/// A program with a delegate, its own authorizer and every kind of binding.
class ChatRoom: PusherDelegate {
    let pusher: Pusher
    var transcript: [String] = []
    /// The queue of the callbacks and of `transcript`; in a program with a run loop, the main queue.
    let queue = DispatchQueue(label: "chat-room")

    init(authMethod: AuthMethod, host: String, port: Int) {
        var options = PusherClientOptions(
            authMethod: authMethod,
            attemptToReturnJSONObject: true,
            autoReconnect: true,
            host: .host(host),
            port: port,
            path: nil,
            useTLS: false,
            activityTimeout: 60
        )
        options.callbackQueue = .queue(queue)
        pusher = Pusher(key: "app-key", options: options)
        pusher.delegate = self
        pusher.connection.delegate = self
        pusher.connection.userDataFetcher = { () -> PusherPresenceChannelMember in
            return PusherPresenceChannelMember(userId: "ann", userInfo: ["name": "Ann", "age": 37])
        }
        pusher.connection.reconnectAttemptsMax = 5
        pusher.connection.maxReconnectGapInSeconds = 10
        pusher.connection.pongResponseTimeoutInterval = 12
    }

    func enter() {
        let _ = pusher.bind({ (message: Any?) -> Void in
            if let message = message as? [String: AnyObject], let eventName = message["event"] as? String {
                self.transcript.append("global \(eventName)")
            }
        })
        let everything = pusher.bind(eventCallback: { (event: PusherEvent) -> Void in
            if event.eventName == "message" { self.transcript.append("global event \(event.data ?? "-")") }
        })
        pusher.unbind(callbackId: everything)

        let messages = pusher.subscribe("private-messages")
        let _ = messages.bind(
            eventName: "message",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: Any], let text = data["text"] as? String, let id = data["id"] as? Int {
                    self.transcript.append("parsed \(text) \(id)")
                }
            })
        let _ = messages.bind(
            eventName: "message",
            eventCallback: { (event: PusherEvent) -> Void in
                let channel = event.property(withKey: "channel") as? String
                self.transcript.append("raw \(event.data ?? "-") \(event.channelName ?? "-") \(channel ?? "-")")
            })
        let _ = messages.bind(
            eventName: "pusher:subscription_succeeded",
            callback: { data in
                self.transcript.append("succeeded")
            })
        messages.onSubscriptionCountChanged = { count in self.transcript.append("count \(count)") }

        let room = pusher.subscribeToPresenceChannel(
            channelName: "presence-room",
            onMemberAdded: { member in self.transcript.append("came \(member.userId)") },
            onMemberRemoved: { member in self.transcript.append("left \(member.userId)") }
        )
        room.bind(eventName: "client-typing") { event in
            self.transcript.append("typing \(event.userId ?? "-")")
        }
        pusher.connect()
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        transcript.append("\(old.stringValue()) -> \(new.stringValue())")
    }

    func subscribedToChannel(name: String) {
        transcript.append("subscribed \(name)")
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        let status = (response as? HTTPURLResponse)?.statusCode
        transcript.append("failed \(name) \(status ?? 0) \(data ?? "-") \(error?.localizedDescription ?? "-")")
    }

    func receivedError(error: PusherError) {
        let code = error.code
        transcript.append("error \(code ?? 0) \(error.message)")
    }

    func debugLog(message: String) {
        print(message)
    }
}

/// Signs with the application's server through its own request.
class RequestBuilder: AuthRequestBuilderProtocol {
    let url: String

    init(url: String) {
        self.url = url
    }

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        guard let url = URL(string: url) else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)".data(using: String.Encoding.utf8)
        request.addValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.addValue("token", forHTTPHeaderField: "Authorization")
        return request
    }
}

/// Signs in another way.
class AnswerBook: Authorizer {
    var answers: [String: PusherAuth] = [:]
    var asked: [String] = []

    func fetchAuthValue(
        socketID: String, channelName: String, completionHandler: @escaping (PusherAuth?) -> Void
    ) {
        asked.append("\(channelName) \(socketID)")
        completionHandler(answers[channelName])
    }
}

/// Switches over the type of a channel.
func describe(_ channel: PusherChannel) -> String {
    switch channel.type {
    case .private: return "private"
    case .presence: return "presence"
    case .normal: return "normal"
    }
}
