// Shows who comes and goes on a presence channel.
//
//     swift run Presence            # ann watches, and bob drops in
//     swift run Presence carol      # watches until Ctrl-C; for several terminals and one server in PUSHER_HOST
import ExampleServer
import PusherSwift

@main
struct Presence {
    static func main() async {
        do {
            let server = try await ExampleServer.start()
            if let name = CommandLine.arguments.dropFirst().first {
                try await enter(server, as: name) { room in await printChanges(changes(in: room)) }
            } else {
                try await enter(server, as: "ann") { room in
                    let changes = changes(in: room)  // before he comes
                    async let visit: Void = enter(server, as: "bob") { _ in }
                    await printChanges(changes, until: "bob")
                    try await visit
                }
            }
        } catch {
            FileHandle.standardError.write(Data("Presence: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Is on the channel as long as `body` runs.
    static func enter(
        _ server: ExampleServer, as name: String, _ body: @Sendable (PusherPresenceChannel) async throws -> Void
    ) async throws {
        var options = server.options
        // Your endpoint knows from its own login who asks; this one takes anybody's word.
        options.authMethod = .endpoint(authEndpoint: server.authEndpoint)
        options.authParameters = { ["user_id": name, "user_info": #"{"name":"\#(name)"}"#] }
        try await Pusher.withConnection(key: server.key, options: options) { pusher in
            let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            try await room.subscribed()
            try await body(room)
        }
    }

    /// Prints who is there, and returns who comes and goes from then on.
    static func changes(in room: PusherPresenceChannel) -> EventSequence<PusherPresenceChannel.MemberChange> {
        let changes = room.memberChanges
        print("here:", room.members.map(\.userId).joined(separator: ", "))
        return changes
    }

    static func printChanges(
        _ changes: EventSequence<PusherPresenceChannel.MemberChange>, until visitor: String? = nil
    ) async {
        for await change in changes {
            switch change {
            case .added(let member): print("+", member.userId)
            case .removed(let member):
                print("-", member.userId)
                if member.userId == visitor { return }
            }
        }
    }
}
