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

    func feed(_ account: MatrixAccount) async throws -> MatrixFeed {
        var selection = MatrixFeed.Selection(isNotificationsOnly: notifications)
        for room in rooms {
            selection.roomIDs = (selection.roomIDs ?? []).union([try await RoomReference(room).roomID(for: account)])
        }
        return MatrixFeed(account, selection: selection)
    }
}
