import ExampleServer
import Foundation
import PusherHTTP
import ScriptedServer

/// The backend's side: check who asks, then sign.
func startBackend(for server: ExampleServer) throws -> URL {
    let signer = PusherSigner(key: server.key, secret: server.secret)
    let backend = try ScriptedServer { request in
        guard request.headers["authorization"] == "Bearer my-token",
            let wanted = try? JSONDecoder().decode([String: String].self, from: request.body),
            let answer = try? signer.authorizeChannel(
                socketID: wanted["socket_id"] ?? "", channel: wanted["channel_name"] ?? "")
        else { return .json(#"{"error":"forbidden"}"#, status: 403) }
        return .json(answer)
    }
    return backend.url.appending(path: "authorize")
}
