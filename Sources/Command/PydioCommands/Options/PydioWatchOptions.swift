import ArgumentParser
import CommandKit
import PydioSDK

/// The options for watching workspaces, in `pydio watch` and `listen`.
struct PydioWatchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Seconds between polls of a Pydio server without a WebSocket. Default: what the server says, or 15.",
            valueName: "seconds"))
    var pollInterval: Double?

    func validate() throws {
        try Seconds.check("--poll-interval", pollInterval, from: 2, to: 1_000_000)
    }

    var events: PydioEventsOptions {
        var options = PydioEventsOptions()
        options.pollInterval = pollInterval.map { .seconds($0) }
        return options
    }
}
