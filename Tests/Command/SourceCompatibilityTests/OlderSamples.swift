import PusherSwift

// The samples of the older library's documents that differ in Swift 6 mode, in their original form. Their other forms
// are in PusherSwiftTests/OlderSamplesTests.swift. The article on older versions contains both.

class AuthRequestBuilder: AuthRequestBuilderProtocol {
    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        // swift-format-ignore: NeverForceUnwrap
        var request = URLRequest(url: URL(string: "http://localhost:9292/builder")!)
        request.httpMethod = "POST"
        request.httpBody = "socket_id=\(socketID)&channel_name=\(channelName)".data(using: String.Encoding.utf8)
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
    }
}

class DummyDelegate: PusherDelegate {
    var lines: [String] = []

    func debugLog(message: String) {
        lines.append(message)
    }

    func subscribedToChannel(name: String) {
        lines.append("subscribed to \(name)")
    }
}

func subscribeWithMemberCallbacks(_ pusher: Pusher) -> PusherPresenceChannel {
    let onMemberChange = { (member: PusherPresenceChannelMember) in
        print(member)
    }

    return pusher.subscribeToPresenceChannel(
        channelName: "presence-channel", onMemberAdded: onMemberChange, onMemberRemoved: onMemberChange)
}

func limitReconnects(_ pusher: Pusher) -> Double? {
    pusher.connection.reconnectAttemptsMax = 10
    pusher.connection.maxReconnectGapInSeconds = 2.5
    let gap: Double? = pusher.connection.maxReconnectGapInSeconds
    pusher.connection.maxReconnectGapInSeconds = nil
    return gap
}

/// Reads data as in version 5's documentation.
func prices(in channel: PusherChannel, _ heard: @escaping (String, Int) -> Void) {
    let _ = channel.bind(
        eventName: "new-price",
        callback: { (data: Any?) -> Void in
            if let data = data as? [String: AnyObject] {
                if let company = data["company"] as? String, let price = data["price"] as? Int {
                    heard(company, price)
                }
            }
        })
}
