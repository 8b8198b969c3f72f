import PusherSwift

let pusher = Pusher(key: "app-key", options: PusherClientOptions(host: .cluster("eu")))
let prices = pusher.subscribe("prices")
pusher.connect()
for await event in prices.events("price") {
    print(event.data ?? "")
}
