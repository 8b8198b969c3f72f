// Prints the first three greetings on a public channel, with `for await`.
//
//     swift run QuickStartAsync
//
// With a server in PUSHER_HOST or PUSHER_CLUSTER, somebody has to publish them:
//
//     pusher-cli trigger my-channel greeting '{"text":"hello"}'
import ExampleServer
import PusherSwift

struct Greeting: Decodable {
    let text: String
}

@main
struct QuickStartAsync {
    static func main() async {
        do {
            try await printGreetings()
        } catch {
            FileHandle.standardError.write(Data("QuickStartAsync: \(error)\n".utf8))
            exit(1)
        }
    }

    static func printGreetings() async throws {
        let texts = ["hello", "good day", "goodbye"]
        let server = try await ExampleServer.start(
            publishing: texts.map { #"{"text":"\#($0)"}"# }, as: "greeting", on: "my-channel")

        try await Pusher.withConnection(key: server.key, options: server.options) { pusher in
            let channel = pusher.subscribe("my-channel")
            let greetings = channel.events("greeting", as: Greeting.self)
            try await channel.subscribed()
            print("subscribed to \(channel.name)")
            for await greeting in greetings.prefix(3) {
                print("greeting:", greeting.text)
            }
        }
    }
}
