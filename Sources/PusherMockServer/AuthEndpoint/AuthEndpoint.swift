import Foundation
import PusherProtocol

/// `POST /pusher/auth`: signs whatever is asked for, in place of an application's own server.
///
/// For development and tests only, since it authorizes everybody. Form parameters: `socket_id` and `channel_name`; for
/// a presence channel also, if given, `user_id` (default: the socket id) and `user_info` (JSON). The answer for an
/// encrypted channel has a `shared_secret` if the application has a master key. The query parameter `key` chooses an
/// application other than the first.
enum AuthEndpoint {
    static let path = "/pusher/auth"

    static func respond(
        to request: APIRequest, applications: [ApplicationState], requiredHeaders: [String: String]
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
            return .json(try answer(to: request.formParameters, application: application))
        } catch {
            return error.response
        }
    }

    private static func answer(
        to parameters: [String: String], application: ApplicationState
    ) throws(APIFailure) -> String {
        let credentials = application.credentials
        guard let socketID = parameters["socket_id"].flatMap(SocketID.init) else {
            throw APIFailure(400, "Invalid socket_id")
        }
        let channel = try HTTPAPI.channelName(parameters["channel_name"] ?? "", as: application.profile)
        guard channel.kind == .presence else {
            let auth = credentials.channelAuth(socketID: socketID, channel: channel)
            let sharedSecret = application.encryptionKey(of: channel)?.base64
            return JSONText.object(["auth": JSONText.quoted(auth), "shared_secret": sharedSecret.map(JSONText.quoted)])
        }
        // Not more than one value: text that goes on with a comma would add members of its own.
        let userInfo = parameters["user_info"]?.trimmingCharacters(in: .whitespacesAndNewlines)
        if let userInfo, JSONObject(#"{"user_info":\#(userInfo)}"#)?.text("user_info") != userInfo {
            throw APIFailure(400, "user_info is not JSON")
        }
        let channelData = JSONText.object([
            "user_id": JSONText.quoted(parameters["user_id"] ?? socketID.string), "user_info": userInfo,
        ])
        let auth = credentials.channelAuth(socketID: socketID, channel: channel, channelData: channelData)
        return JSONText.object(["auth": JSONText.quoted(auth), "channel_data": JSONText.quoted(channelData)])
    }
}

extension APIRequest {
    /// The fields of a form-encoded body; of a repeated one the last.
    var formParameters: [String: String] {
        Dictionary(
            RequestTarget.parameters(of: bodyText).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}
