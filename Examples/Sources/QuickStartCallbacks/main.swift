// Prints the events of a public channel, with callbacks.
//
//     pusher-cli serve                                             # in one terminal
//     swift run --package-path Examples QuickStartCallbacks        # in a second
//     pusher-cli trigger my-channel greeting hello --no-tls --host 127.0.0.1 --port 6001 \
//         --app-id app-id --key app-key --secret app-secret        # in a third
import Dispatch
import PusherSwift

let options = PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false)
let pusher = Pusher(key: "app-key", options: options)

let channel = pusher.subscribe("my-channel")
channel.bind(eventName: "greeting") { event in
    print("greeting:", event.data ?? "")
}

pusher.connect()
dispatchMain()
