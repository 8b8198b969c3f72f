import ArgumentParser
import MatrixSDK

/// What of an account's events is listened to.
struct MatrixListenOptions: ParsableArguments {
    @Option(
        name: .customLong("room"),
        help: ArgumentHelp("Only print the events of this room: id, alias or name. May be repeated.", valueName: "room")
    )
    var rooms: [String] = []

    @Flag(help: "Only print Matrix events that your push rules notify you of.")
    var notifications = false

    func feed(_ account: MatrixAccount) -> MatrixFeed {
        MatrixFeed(account, rooms: rooms.map(RoomReference.init), isNotificationsOnly: notifications)
    }
}
