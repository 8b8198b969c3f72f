import PusherProtocol

/// The HTTP API over one application: what a signed request is answered, and what it makes the server deliver.
struct HTTPAPI {
    struct Answer: Hashable {
        var response: APIResponse
        var deliveries: [Delivery] = []
    }

    let application: ApplicationState

    /// Routes `/apps/{app_id}/…`.
    ///
    /// - Parameters:
    ///   - path: of the request, without the server's prefix.
    ///   - now: seconds since 1970.
    static func respond(
        to request: APIRequest, path: String, applications: [ApplicationState], now: Int
    ) -> Answer {
        do throws(APIFailure) {
            let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
                .map { String($0).removingPercentEscapes ?? "" }
            guard segments.count >= 3, segments[0] == "apps" else { throw APIFailure(404, "Not found") }
            guard let application = applications.first(where: { $0.app.id == segments[1] }) else {
                throw APIFailure(404, "Unknown application \(segments[1].prefix(100))")
            }
            try APIAuthentication.check(request, path: path, credentials: application.credentials, now: now)
            guard application.app.isEnabled else { throw APIFailure(403, "Application disabled") }
            return try Self(application: application).route(request, Array(segments.dropFirst(2)))
        } catch {
            return Answer(response: error.response)
        }
    }

    private func route(_ request: APIRequest, _ segments: [String]) throws(APIFailure) -> Answer {
        switch (request.method, segments.count, segments[0], segments.last) {
        case ("POST", 1, "events", _): return try postEvents(request)
        case ("POST", 1, "batch_events", _): return try postBatch(request)
        case ("GET", 1, "channels", _): return Answer(response: try getChannels(request.target))
        case ("GET", 2, "channels", let name?): return Answer(response: try getChannel(name, request.target))
        case ("GET", 3, "channels", "users"): return Answer(response: try getUsers(of: segments[1]))
        case _: throw APIFailure(404, "Not found")
        }
    }

    /// A channel name in a request.
    static func channelName(_ text: String) throws(APIFailure) -> ChannelName {
        let name: ChannelName
        do {
            name = try ChannelName(text)
        } catch {
            throw APIFailure(400, "Invalid channel name: \(error)")
        }
        guard name.kind != .serverToUser else {
            throw APIFailure(400, "Invalid channel name: “\(name)” is for internal use")
        }
        return name
    }
}

/// What can be asked about a channel with `info`.
enum ChannelAttribute: String {
    case userCount = "user_count"
    case subscriptionCount = "subscription_count"

    static func list(_ text: String?) throws(APIFailure) -> [Self] {
        var result: [Self] = []
        for name in (text ?? "").split(separator: ",") {
            guard let attribute = Self(rawValue: String(name)) else {
                throw APIFailure(400, "Unknown info attribute: \(name.prefix(100))")
            }
            result.append(attribute)
        }
        return result
    }

    func applies(to channel: ChannelName) -> Bool {
        switch self {
        case .userCount: channel.kind == .presence
        case .subscriptionCount: channel.kind != .presence
        }
    }

    func value(of channel: ChannelState?) -> Int {
        switch self {
        case .userCount: channel?.userIDs.count ?? 0
        case .subscriptionCount: channel?.subscribers.count ?? 0
        }
    }
}

extension [ChannelAttribute] {
    /// Those that fit the channel, as the text of a JSON object.
    func info(of name: ChannelName, in application: ApplicationState) -> String {
        let channel = application.channels[name.string]
        return JSONText.object(
            filter { $0.applies(to: name) }.map { ($0.rawValue, "\($0.value(of: channel))") })
    }
}
