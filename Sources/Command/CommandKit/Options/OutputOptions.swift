package import ArgumentParser

/// A record that can be printed as text or JSON.
package protocol OutputRecord {
    /// The record as a JSON object.
    var json: String { get }

    func text(style: TextStyle) -> TerminalText
}

/// A record of a list whose parts align with those of the others.
package protocol ListRecord: OutputRecord {
    /// Returns the same number of columns for each record; a missing part is empty.
    func columns(style: TextStyle) -> [TerminalText]
}

extension ListRecord {
    package func text(style: TextStyle) -> TerminalText { columns(style: style).inColumns() }
}

/// The output format of a command's records.
package struct OutputOptions: ParsableArguments, Sendable {
    @Flag(help: "Print one JSON object per line.")
    package var json = false

    @OptionGroup package var color: ColorOption

    package init() {}

    /// - Returns: Whether it was written; see ``StandardOutput``.
    package func write(_ record: some OutputRecord) -> Bool {
        json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text(style: color.standardOutput))
    }

    /// Prints a list. On a terminal its columns are aligned, and cells that are too long for its width are shortened;
    /// anywhere else each line has the complete record.
    ///
    /// - Parameter none: The message on standard error for an empty list if standard output is a terminal.
    /// - Returns: Whether everything was written; see ``StandardOutput``.
    package func write(_ list: [some ListRecord], none: TerminalText? = nil) -> Bool {
        if list.isEmpty, !json, let none, StandardOutput.isTerminal { StandardError.write(none) }
        guard !json, let width = StandardOutput.columns else { return list.allSatisfy { write($0) } }
        let style = color.standardOutput
        return ColumnLayout.table(list.map { $0.columns(style: style) }, width: width)
            .allSatisfy { StandardOutput.write($0) }
    }
}

/// The option `--color` for commands with coloured output.
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
