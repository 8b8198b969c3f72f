// Publishes an event as an application's server does, and asks who is there.
//
//     swift run Publish
//
// With a server in PUSHER_HOST or PUSHER_CLUSTER, PUSHER_APP_ID, PUSHER_KEY and PUSHER_SECRET say whose application it is.
import ExampleServer
import Foundation
import PusherHTTP

struct Price: Encodable {
    let value: Int
}

@main
struct Publish {
    static func main() async {
        do {
            try await publish(to: try await ExampleServer.start())
        } catch {
            FileHandle.standardError.write(Data("Publish: \(error)\n".utf8))
            exit(1)
        }
    }

    static func publish(to server: ExampleServer) async throws {
        let api = PusherHTTPClient(
            appID: server.appID, key: server.key, secret: server.secret, cluster: server.cluster, host: server.host,
            port: server.port, useTLS: server.useTLS)
        try await api.trigger(event: "price", channels: ["prices"], json: Price(value: 1))
        print("published to prices")
        let channels = try await api.channels()
        print("channels with subscribers:", channels.count)
    }
}
