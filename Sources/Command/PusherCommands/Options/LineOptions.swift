import ArgumentParser
import CommandKit

/// The option to send one event per line of input, and its rate.
struct LineOptions: ParsableArguments {
    @Flag(
        help: """
            Send each line of standard input as a separate event as it arrives, until the input ends. Ctrl-C lets the \
            request in flight finish, sends nothing more and reports how far it got; pressed again, it ends at once.
            """)
    var lines = false

    @Option(help: "With --lines: maximum events per second.")
    var rate: Double?

    func validate() throws {
        guard rate == nil || lines else { throw ValidationError("--rate needs --lines.") }
        guard rate.map({ (0.001...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--rate must be 0.001 to 1000000.")
        }
    }
}

/// The options for publishing lines, in addition to ``LineOptions``.
struct LinePublishingOptions: ParsableArguments {
    @OptionGroup var input: LineOptions

    @Option(
        help: """
            With --lines: how long to retry, in seconds, while the server cannot be reached or answers 429 (too many \
            requests). Default: 30. A request that the server may have acted on, even one that is answered with 503, \
            is never sent again.
            """)
    var retryFor: Double?

    func validate() throws {
        guard retryFor == nil || input.lines else { throw ValidationError("--retry-for needs --lines.") }
        try Seconds.check("--retry-for", retryFor, from: 0)
    }

    var patience: Duration { .seconds(retryFor ?? 30) }
}
