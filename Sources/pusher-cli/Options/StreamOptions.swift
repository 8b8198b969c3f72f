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
        try Seconds.check("--timeout", timeout)
        try Seconds.check("--connect-timeout", connectTimeout, from: 0)
    }
}
