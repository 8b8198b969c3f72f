import Foundation
import PusherProtocol

/// Signs every request, in place of an application's own server.
///
/// For development and tests only, since it authorizes everyone. The query parameter `key` selects an application other
/// than the first.
enum AuthEndpoint: String {
    /// Form parameters: `socket_id` and `channel_name`; for a presence channel also, if given, `user_id` (default: the
    /// socket id) and `user_info` (JSON). The answer for an encrypted channel has a `shared_secret` if the application
    /// has a master key.
    case channels = "/pusher/auth"
    /// Form parameters: `socket_id`; if given, `user_id` (default: the socket id), `user_info` (JSON) and `watchlist`
    /// (JSON array of user ids).
    case users = "/pusher/user-auth"

    func respond(
        to request: APIRequest, with parameters: [String: String], applications: [ApplicationState],
        requiredHeaders: [String: String]
    ) -> APIResponse {
        do throws(APIFailure) {
            guard request.method == "POST" else { throw APIFailure(405, "Use POST") }
            for (name, value) in requiredHeaders where request.headers[name.lowercased()] != value {
                throw APIFailure(403, "Header \(name) is absent or wrong")
            }
            let key = request.target.parameter("key")
            guard let application = applications.first(where: { key == nil || $0.app.key == key }) else {
                throw APIFailure(404, "Unknown application key")
            }
            guard let socketID = parameters["socket_id"].flatMap(SocketID.init) else {
                throw APIFailure(400, "Invalid socket_id")
            }
            switch self {
            case .channels: return .json(try Self.channelAuth(parameters, socketID, application))
            case .users: return .json(try Self.userAuth(parameters, socketID, application))
            }
        } catch {
            return error.response
        }
    }

    private static func channelAuth(
        _ parameters: [String: String], _ socketID: SocketID, _ application: ApplicationState
    ) throws(APIFailure) -> String {
        let credentials = application.credentials
        let channel = try HTTPAPI.channelName(parameters["channel_name"] ?? "", as: application.profile)
        guard channel.kind == .presence else {
            let auth = credentials.channelAuth(socketID: socketID, channel: channel)
            let sharedSecret = application.encryptionKey(of: channel)?.base64
            return JSONText.object(["auth": JSONText.quoted(auth), "shared_secret": sharedSecret.map(JSONText.quoted)])
        }
        let userID = parameters["user_id"] ?? socketID.string
        guard !userID.isEmpty else { throw APIFailure(400, "user_id is empty") }
        let channelData = JSONText.object([
            "user_id": JSONText.quoted(userID),
            "user_info": try json("user_info", in: parameters),
        ])
        let auth = credentials.channelAuth(socketID: socketID, channel: channel, channelData: channelData)
        return JSONText.object(["auth": JSONText.quoted(auth), "channel_data": JSONText.quoted(channelData)])
    }

    private static func userAuth(
        _ parameters: [String: String], _ socketID: SocketID, _ application: ApplicationState
    ) throws(APIFailure) -> String {
        let userData = JSONText.object([
            "id": JSONText.quoted(parameters["user_id"] ?? socketID.string),
            "user_info": try json("user_info", in: parameters), "watchlist": try json("watchlist", in: parameters),
        ])
        do {
            _ = try UserData(userData)
        } catch {
            throw APIFailure(400, error.message)
        }
        let auth = application.credentials.userAuth(socketID: socketID, userData: userData)
        return JSONText.object(["auth": JSONText.quoted(auth), "user_data": JSONText.quoted(userData)])
    }

    private static func json(_ name: String, in parameters: [String: String]) throws(APIFailure) -> String? {
        let text = parameters[name]?.trimmingCharacters(in: .whitespacesAndNewlines)
        // Allow only one value: text that continues after a comma would add members.
        if let text, JSONObject(#"{"value":\#(text)}"#)?.text("value") != text {
            throw APIFailure(400, "\(name) is not JSON")
        }
        return text
    }
}

extension APIRequest {
    /// The fields of a form-encoded body; the last value if a field is repeated.
    var formParameters: [String: String] {
        Dictionary(
            RequestTarget.parameters(of: bodyText).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}
