import ArgumentParser

/// How long to stay and how to print: the same for `subscribe` and `listen`.
struct StreamOptions: ParsableArguments {
    @Option(help: "Leave after this many events.")
    var count: Int?

    @Option(help: "Leave after this many seconds: with status 75 if --count was not reached, else with 0.")
    var timeout: Double?

    @Option(help: "Give up if there is no connection after this many seconds; 0 tries for ever.")
    var connectTimeout = 10.0

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func validate() throws {
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count is 1 or more.") }
        guard timeout.map({ $0 > 0 && $0 < 1e9 }) ?? true else { throw ValidationError("--timeout is above 0.") }
        guard connectTimeout >= 0, connectTimeout < 1e9 else {
            throw ValidationError("--connect-timeout is 0 or more.")
        }
    }
}
