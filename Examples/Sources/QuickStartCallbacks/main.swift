// The same as QuickStartAsync, with callbacks.
//
//     swift run QuickStartCallbacks
import ExampleServer
import PusherSwift

struct Greeting: Decodable {
    let text: String
}

/// Told what happens to the connection.
final class Reporter: PusherDelegate {
    func subscribedToChannel(name: String) {
        print("subscribed to \(name)")
    }

    func receivedError(error: PusherError) {
        FileHandle.standardError.write(Data("QuickStartCallbacks: \(error)\n".utf8))
        if !error.willRetry { exit(1) }
    }
}

let server: ExampleServer
do {
    server = try ExampleServer.startAndWait(
        publishing: ["hello", "good day", "goodbye"].map { #"{"text":"\#($0)"}"# }, as: "greeting", on: "my-channel")
} catch {
    FileHandle.standardError.write(Data("QuickStartCallbacks: \(error)\n".utf8))
    exit(1)
}

let pusher = Pusher(key: server.key, options: server.options)
let reporter = Reporter()
pusher.delegate = reporter  // held weakly

let received = DispatchSemaphore(value: 0)
let channel = pusher.subscribe("my-channel")
channel.bind("greeting", as: Greeting.self) { greeting in
    print("greeting:", greeting.text)
    received.signal()
}
pusher.connect()

// Callbacks have a queue of their own, so the main thread may wait for three of them.
for _ in 1...3 { received.wait() }
pusher.disconnect()
