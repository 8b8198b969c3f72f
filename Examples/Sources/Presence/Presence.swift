// Shows who comes and goes on a presence channel. Start it several times, with names as arguments.
import PusherSwift

@main
struct Presence {
    static func main() async throws {
        let name = CommandLine.arguments.dropFirst().first ?? "somebody"
        let options = PusherClientOptions(
            authMethod: .inline(secret: "app-secret"), host: .host("127.0.0.1"), port: 6001, useTLS: false)
        let pusher = Pusher(key: "app-key", options: options)
        pusher.connection.userDataFetcher = {
            PusherPresenceChannelMember(userId: name, userInfo: ["name": name])
        }
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        let changes = room.memberChanges
        pusher.connect()
        try await room.subscribed()
        print("here:", room.members.map(\.userId).joined(separator: ", "))
        for await change in changes {
            switch change {
            case .added(let member): print("+", member.userId)
            case .removed(let member): print("-", member.userId)
            }
        }
    }
}
