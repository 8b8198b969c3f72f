import Basics
import PusherProtocol
import Transport

/// The HTTP API of one application: the answers to signed requests, and the resulting deliveries.
struct HTTPAPI {
    struct Answer: Hashable {
        var response: APIResponse
        /// The application that the commands are for.
        var appKey: String?
        var commands: [Command] = []
    }

    /// An action of the application that results from a request, once its answer is decided.
    enum Command: Hashable {
        case publish(Publication)
        case terminateConnections(userID: String)

        func apply(to application: inout ApplicationState, now: MonotonicInstant) {
            switch self {
            case .publish(let publication): application.publish(publication, from: .httpAPI, now: now)
            case .terminateConnections(let userID): application.terminateConnections(of: userID)
            }
        }
    }

    struct Clock: Hashable {
        var instant: MonotonicInstant
        /// Seconds since 1970.
        var unixTime: Int
    }

    let application: ApplicationState
    let now: MonotonicInstant

    /// Routes `/apps/{app_id}/…`. The path is passed without the server's prefix.
    static func respond(
        to request: APIRequest, path: String, applications: [ApplicationState], clock: Clock
    ) -> Answer {
        do throws(APIFailure) {
            // A proxy would resolve it, and the signature would be for another path.
            guard !PathSegment.hasDots(path: path) else { throw APIFailure(400, "The path has a dot segment") }
            let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
                .map { String($0).removingPercentEscapes ?? "" }
            let (application, rest) = try target(of: segments, request: request, applications: applications)
            try APIAuthentication.check(
                request, path: path, credentials: application.credentials, now: clock.unixTime)
            guard application.app.isEnabled else { throw APIFailure(403, "Application disabled") }
            var answer = try Self(application: application, now: clock.instant).route(request, rest)
            answer.appKey = application.app.key
            return answer
        } catch {
            return Answer(response: error.response)
        }
    }

    /// Returns the application that a path names, and the rest of the path. The official Python library posts to
    /// `/users/{id}/…`; then the key determines the application.
    private static func target(
        of segments: [String], request: APIRequest, applications: [ApplicationState]
    ) throws(APIFailure) -> (ApplicationState, rest: [String]) {
        if segments.count == 3, segments[0] == "users" {
            let key = request.target.parameter("auth_key")
            guard let application = applications.first(where: { $0.app.key == key }) else {
                throw APIFailure(401, "Unknown auth_key")
            }
            return (application, segments)
        }
        guard segments.count >= 3, segments[0] == "apps" else { throw APIFailure(404, "Not found") }
        guard let application = applications.first(where: { $0.app.id == segments[1] }) else {
            throw APIFailure(404, "Unknown application \(segments[1].prefix(100))")
        }
        return (application, Array(segments.dropFirst(2)))
    }

    private func route(_ request: APIRequest, _ segments: [String]) throws(APIFailure) -> Answer {
        switch (request.method, segments.count, segments[0], segments.last) {
        case ("POST", 1, "events", _): return try validating { () throws(APIFailure) in try postEvents(request) }
        case ("POST", 1, "batch_events", _): return try validating { () throws(APIFailure) in try postBatch(request) }
        case ("POST", 3, "channels", "events"): return try postEvent(to: segments[1], request)
        case ("POST", 3, "users", "terminate_connections"): return try postTermination(of: segments[1], request)
        case ("GET", 1, "channels", _): return Answer(response: try getChannels(request.target))
        case ("GET", 2, "channels", let name?): return Answer(response: try getChannel(name, request.target))
        case ("GET", 3, "channels", "users"): return Answer(response: try getUsers(of: segments[1]))
        case ("GET", 3, "channels", "stats"): return Answer(response: try getStatistics(of: segments[1]))
        case _: throw APIFailure(404, "Not found")
        }
    }

    /// Runs `body`, and gives a broken rule the profile's status.
    private func validating(_ body: () throws(APIFailure) -> Answer) throws(APIFailure) -> Answer {
        do {
            return try body()
        } catch {
            guard error.status == 400 else { throw error }
            throw APIFailure(application.profile.invalidEventStatus, error.message)
        }
    }

    static func channelName(
        _ text: String, as profile: PusherMockServer.Profile
    ) throws(APIFailure) -> ChannelName {
        let name = try addressee(text, as: profile)
        guard name.kind != .serverToUser else {
            throw APIFailure(400, "Invalid channel name: “\(name)” is for internal use")
        }
        return name
    }

    /// Returns a target for publishing: a channel name or `#server-to-user-{id}`.
    static func addressee(_ text: String, as profile: PusherMockServer.Profile) throws(APIFailure) -> ChannelName {
        do {
            return try ChannelName(text, as: profile)
        } catch {
            throw APIFailure(400, "Invalid channel name: \(error)")
        }
    }
}
