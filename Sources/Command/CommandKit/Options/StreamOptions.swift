package import ArgumentParser
package import PusherSwift

/// The duration and output options of `subscribe` and `listen`.
package struct StreamOptions: ParsableArguments {
    @Option(help: "Exit after this many events.")
    package var count: Int?

    @Option(
        help:
            "Exit after this many seconds: with 0, with 75 if --count was not reached, or with 69 if there was no connection."
    )
    package var timeout: Double?

    @Option(help: "Give up if there is no connection after this many seconds; 0 keeps trying forever.")
    package var connectTimeout = 10.0

    @OptionGroup package var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            #"""
            Print each event as this text, in which {{channel}}, {{event}}, {{data}}, {{data.price}} (a path into JSON \#
            data), {{user_id}}, {{time}} and {{type}} are replaced, and so are the escapes \n, \t, \\ and \{. Line \#
            breaks and other control characters in values are escaped. Members, states and errors are printed only if \#
            the text has {{type}}, with their JSON as data; otherwise they go to standard error.
            """#, valueName: "template"), transform: { try StreamTemplate($0) })
    package var format: StreamTemplate?

    @Flag(
        help: """
            Print only the data of events, one per line. Line breaks and other control characters in it are escaped; \
            JSON stays JSON. Everything except events goes to standard error.
            """)
    package var raw = false

    @Flag(
        name: [.customShort("0"), .customLong("null")],
        help: """
            With --raw or --format: end each record with a zero byte instead of a line ending, and print values \
            unchanged, except on a terminal. Zero bytes in values are escaped.
            """)
    package var null = false

    @Option(
        help: ArgumentHelp(
            """
            Run this command with /bin/sh -c for each event. It gets the data on standard input, and PUSHER_EVENT, \
            PUSHER_CHANNEL, PUSHER_TIME and, if there is one, PUSHER_USER_ID in its environment. While --jobs commands \
            are running, no more events are read. At the end, all of them are waited for; a second Ctrl-C ends them. A \
            command that fails is reported on standard error, and the exit status is then 69 or worse. Everything \
            except events goes to standard error.
            """, valueName: "command"))
    package var exec: String?

    @Option(help: "How many --exec commands run at a time; 1 keeps the events in order. Default: 1.")
    package var jobs: Int?

    package init() {}

    package func validate() throws {
        guard count.map({ $0 > 0 }) ?? true else { throw ValidationError("--count must be 1 or more.") }
        try Seconds.check("--timeout", timeout)
        try Seconds.check("--connect-timeout", connectTimeout, from: 0)
        guard [output.json, raw, format != nil, exec != nil].count(where: \.self) <= 1 else {
            throw ValidationError("Give one of --json, --raw, --format and --exec.")
        }
        guard !null || raw || format != nil else { throw ValidationError("-0 needs --raw or --format.") }
        guard exec?.allSatisfy(\.isWhitespace) != true else { throw ValidationError("--exec takes a command.") }
        guard jobs == nil || exec != nil else { throw ValidationError("--jobs needs --exec.") }
        guard jobs.map({ (1...1000).contains($0) }) ?? true else { throw ValidationError("--jobs must be 1 to 1000.") }
    }

    package func limitConnecting(_ options: inout PusherClientOptions) {
        if let timeout { options.limitWaits(to: timeout) }
        let limits = [connectTimeout == 0 ? nil : connectTimeout, timeout].compactMap(\.self)
        if let limit = limits.min() { options.limitConnecting(to: limit) }
    }

    /// Returns the form in which events are output.
    package func form() -> StreamForm {
        if let exec { return .command(EventProcesses(exec, jobs: jobs ?? 1)) }
        if let format { return .template(format, RecordSeparator(isNul: null)) }
        if raw { return .raw(RecordSeparator(isNul: null)) }
        return output.json ? .json : .columns(output.color.standardOutput)
    }
}
