import ArgumentParser
import MatrixSDK

/// What of an account's events is listened to.
struct MatrixListenOptions: ParsableArguments {
    @Option(
        name: .customLong("room"),
        help: ArgumentHelp("Print the events of this room only: id, alias or name. May be repeated.", valueName: "room")
    )
    var rooms: [String] = []

    @Flag(help: "Print only those Matrix events that your push rules tell of.")
    var notifications = false

    func feed(_ account: MatrixAccount) -> MatrixFeed {
        MatrixFeed(account, rooms: rooms.map(RoomReference.init), isNotificationsOnly: notifications)
    }
}
