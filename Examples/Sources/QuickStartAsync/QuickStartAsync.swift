// The same as QuickStartCallbacks, with `for await`.
import PusherSwift

@main
struct QuickStartAsync {
    struct Greeting: Decodable {
        let text: String
    }

    static func main() async throws {
        let options = PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false)
        let pusher = Pusher(key: "app-key", options: options)
        let channel = pusher.subscribe("my-channel")
        let greetings = channel.events("greeting")
        pusher.connect()
        try await channel.subscribed()
        print("subscribed")
        for await event in greetings {
            if let greeting = try? event.decode(Greeting.self) {
                print("greeting:", greeting.text)
            } else {
                print("greeting:", event.data ?? "")
            }
        }
    }
}
