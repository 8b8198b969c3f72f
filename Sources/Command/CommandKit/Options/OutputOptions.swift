package import ArgumentParser

/// What can be printed: for people, and for programs.
package protocol OutputRecord {
    /// One JSON object.
    var json: String { get }

    func text(style: TextStyle) -> TerminalText
}

/// One of a list: its parts stand below those of the others.
package protocol ListRecord: OutputRecord {
    /// As many for each record; what it has nothing to say of is empty.
    func columns(style: TextStyle) -> [TerminalText]
}

extension ListRecord {
    package func text(style: TextStyle) -> TerminalText { columns(style: style).inColumns() }
}

/// How a command prints its records.
package struct OutputOptions: ParsableArguments, Sendable {
    @Flag(help: "Print one JSON object per line.")
    package var json = false

    @OptionGroup package var color: ColorOption

    package init() {}

    /// - Returns: Whether it was taken; see ``StandardOutput``.
    package func write(_ record: some OutputRecord) -> Bool {
        json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text(style: color.standardOutput))
    }

    /// Prints a list. On a terminal its columns line up, and cells that are too long for its width are shortened;
    /// anywhere else a line has all of its record.
    ///
    /// - Parameter none: What standard error says of an empty list if standard output is a terminal.
    /// - Returns: Whether all of it was taken; see ``StandardOutput``.
    package func write(_ list: [some ListRecord], none: TerminalText? = nil) -> Bool {
        if list.isEmpty, !json, let none, StandardOutput.isTerminal { StandardError.write(none) }
        guard !json, let width = StandardOutput.columns else { return list.allSatisfy { write($0) } }
        let style = color.standardOutput
        return ColumnLayout.table(list.map { $0.columns(style: style) }, width: width)
            .allSatisfy { StandardOutput.write($0) }
    }
}

/// `--color`, for the commands that print in colour.
package struct ColorOption: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "When to use colour. auto: on a terminal, unless NO_COLOR or CLICOLOR_FORCE says otherwise.",
            valueName: "when"))
    package var color = ColorChoice.auto

    package var standardOutput: TextStyle { color.style(isTerminal: StandardOutput.isTerminal) }
    package var standardError: TextStyle { color.style(isTerminal: StatusLine.isShown) }

    package init() {}
}
