package import ArgumentParser
package import CommandKit
import MatrixSDK

/// The selection of an account's events.
package struct MatrixListenOptions: ParsableArguments {
    @Option(
        name: .customLong("room"),
        help: ArgumentHelp(
            "Only print the events of this room: id, alias, or name or part of it. May be repeated.", valueName: "room")
    )
    package var rooms: [String] = []

    @Flag(help: "Only print Matrix events that your push rules notify you of.")
    var notifications = false

    @Flag(help: "Do not print the Matrix events that came since the last listen ended.")
    var noCatchUp = false

    @Option(
        help: ArgumentHelp(
            "First print the Matrix events of your rooms since this time, instead of those since the last listen ended: "
                + "\(PastTime.forms).", valueName: "time"), transform: { try PastTime($0) })
    var since: PastTime?

    package init() {}

    package func validate() throws {
        guard since == nil || !noCatchUp else {
            throw ValidationError("--since and --no-catch-up cannot be used together.")
        }
    }

    /// Whether any of these options is given.
    package var isGiven: Bool { !rooms.isEmpty || notifications || noCatchUp || since != nil }

    private var past: MatrixFeed.Past {
        if let since { .since(since.date) } else { noCatchUp ? .nothing : .missed }
    }

    package func feed(_ account: MatrixAccount) -> any Feed {
        MatrixFeed(
            account, rooms: rooms.map(RoomReference.init), isNotificationsOnly: notifications, past: past)
    }
}
