import ArgumentParser

/// What can be printed: for people, and for programs.
protocol OutputRecord {
    /// One JSON object.
    var json: String { get }

    func text(style: TextStyle) -> TerminalText
}

/// How a command prints its records.
struct OutputOptions: ParsableArguments, Sendable {
    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var color: ColorOption

    /// - Returns: Whether it was taken; see ``StandardOutput``.
    func write(_ record: some OutputRecord) -> Bool {
        json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text(style: color.standardOutput))
    }
}

/// `--color`, for the commands that print in colour.
struct ColorOption: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "When to use colour. auto: on a terminal, unless NO_COLOR or CLICOLOR_FORCE says otherwise.",
            valueName: "when"))
    var color = ColorChoice.auto

    var standardOutput: TextStyle { color.style(isTerminal: StandardOutput.isTerminal) }
    var standardError: TextStyle { color.style(isTerminal: StatusLine.isShown) }
}
