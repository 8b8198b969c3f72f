// Subscribes to a private channel with a signature from a backend that takes a bearer token and JSON.
//
//     swift run CustomAuthorizer
//     AUTH_TOKEN=… swift run CustomAuthorizer https://example.org/authorize
//
// For an endpoint that takes forms, `.endpoint(authEndpoint:)` and `options.authHeaders` are enough.
import ExampleServer
import PusherSwift

struct Backend {
    let url: URL
    let token: String

    private struct Answer: Decodable {
        let auth: String
        let channelData: String?

        enum CodingKeys: String, CodingKey {
            case auth
            case channelData = "channel_data"
        }
    }

    /// Its description becomes part of the error that `subscribed()` throws.
    private struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    func authorize(socketID: String, channelName: String) async throws -> PusherAuth {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(["socket_id": socketID, "channel_name": channelName])
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try await URLSession.shared.data(for: request)
        } catch {
            throw PusherTemporaryFailure("\(url) cannot be reached")  // the client tries again
        }
        guard let status = (response as? HTTPURLResponse)?.statusCode, status == 200 else {
            throw Refusal(description: "\(url) refuses to sign")
        }
        let answer = try JSONDecoder().decode(Answer.self, from: data)
        return PusherAuth(auth: answer.auth, channelData: answer.channelData)
    }
}

@main
struct CustomAuthorizer {
    static func main() async {
        do {
            let server = try await ExampleServer.start(
                publishing: [#"{"id":1}"#], as: "order", on: "private-orders")
            let address = CommandLine.arguments.dropFirst().first.flatMap { URL(string: $0) }
            let url = try address ?? startBackend(for: server)
            let token = ProcessInfo.processInfo.environment["AUTH_TOKEN"] ?? "my-token"
            try await printOrder(from: server, Backend(url: url, token: token))
        } catch {
            FileHandle.standardError.write(Data("CustomAuthorizer: \(error)\n".utf8))
            exit(1)
        }
    }

    static func printOrder(from server: ExampleServer, _ backend: Backend) async throws {
        var options = server.options
        options.authMethod = .provider { socketID, channelName in
            try await backend.authorize(socketID: socketID, channelName: channelName)
        }
        try await Pusher.withConnection(key: server.key, options: options) { pusher in
            let orders = pusher.subscribe("private-orders")
            let events = orders.events("order")
            try await orders.subscribed()
            print("subscribed to \(orders.name)")
            for await event in events.prefix(1) {
                print("order:", event.data ?? "")
            }
        }
    }
}
