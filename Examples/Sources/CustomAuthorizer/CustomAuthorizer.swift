// Gets the signature of a private channel in a way of its own: here with a token in a header, and JSON both ways.
import PusherSwift

struct TokenAuthorizer: Authorizer {
    let url: URL
    let token: String

    private struct Answer: Decodable {
        let auth: String
        let channel_data: String?
    }

    func fetchAuthValue(
        socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try? JSONEncoder().encode(["socket_id": socketID, "channel_name": channelName])
        let task = URLSession.shared.dataTask(with: request) { data, _, _ in
            let answer = data.flatMap { try? JSONDecoder().decode(Answer.self, from: $0) }
            completionHandler(answer.map { PusherAuth(auth: $0.auth, channelData: $0.channel_data) })
        }
        task.resume()
    }
}

@main
struct CustomAuthorizer {
    static func main() async throws {
        guard let url = URL(string: "http://127.0.0.1:8000/authorize") else { return }
        let options = PusherClientOptions(
            authMethod: .authorizer(authorizer: TokenAuthorizer(url: url, token: "my-token")),
            host: .host("127.0.0.1"), port: 6001, useTLS: false)
        let pusher = Pusher(key: "app-key", options: options)
        let orders = pusher.subscribe("private-orders")
        let events = orders.events()
        pusher.connect()
        try await orders.subscribed()
        for await event in events { print(event.eventName, event.data ?? "") }
    }
}
