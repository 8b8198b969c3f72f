package import ArgumentParser

/// Command line mistakes for which ArgumentParser reports the wrong cause.
package struct UsageMistake {
    /// The root command.
    package let root: any ParsableCommand.Type
    private let arguments: [String]
    /// The command named by the arguments, and its path from the root.
    private let command: any ParsableCommand.Type
    private let path: [String]
    /// The arguments after its name.
    private let rest: ArraySlice<String>

    package init(_ arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var path = [Self.name(of: command)]
        var rest = arguments[...]
        if rest.first == "help" { rest.removeFirst() }
        while let subcommand = command.configuration.subcommands.first(where: { Self.name(of: $0) == rest.first }) {
            command = subcommand
            path.append(Self.name(of: subcommand))
            rest.removeFirst()
        }
        (self.root, self.arguments, self.command, self.path, self.rest) = (root, arguments, command, path, rest)
    }

    /// A pointer to the command's help.
    package var hint: String { "See '\(path.joined(separator: " ")) --help' for more information." }

    /// The error for an unknown command after `help`, which ArgumentParser ignores.
    package var ofHelp: String? { arguments.first == "help" ? unknownCommand : nil }

    /// Returns a more accurate message than ArgumentParser's, if there is one.
    package func better(than message: String) -> String? {
        if message.contains("nexpected argument") { return unknownCommand }
        if message.hasPrefix("Missing expected argument") { return unknownOption }
        guard message.hasPrefix("Missing value for") else { return nil }
        // ArgumentParser takes a negative number for an option unless it is joined to its own option.
        guard
            let index = rest.indices.dropLast().first(where: { index in
                message.contains("'\(rest[index]) <") && rest[index + 1].wholeMatch(of: /-[0-9.]+/) != nil
            })
        else { return nil }
        var joined = arguments
        let place = arguments.count - rest.count + index - rest.startIndex
        joined[place] += "=" + joined.remove(at: place + 1)
        do {
            _ = try root.parseAsRoot(joined)
            return "the value '\(rest[index + 1])' is invalid for '\(rest[index])'"
        } catch {
            return root.message(for: error)
        }
    }

    private var unknownCommand: String? {
        guard let name = rest.first, !name.hasPrefix("-"), !command.configuration.subcommands.isEmpty else {
            return nil
        }
        let names = command.configuration.subcommands.map(Self.name)
        return "'\(name)' is not a command of \(path.joined(separator: " "))\(Self.suggestion(for: name, of: names))"
    }

    /// An unknown option, if a required argument is missing as well.
    private var unknownOption: String? {
        let help = root.helpMessage(for: command, columns: 1000)
        let known = help.matches(of: /(?:^|[\s(\/])(--?[A-Za-z0-9][-A-Za-z0-9]*)/).map { String($0.1) }
        let given = rest.prefix { $0 != "--" }.compactMap { $0.wholeMatch(of: /(--?[A-Za-z][-A-Za-z0-9]*)(?:=.*)?/) }
        return given.map { String($0.1) }.first { !known.contains($0) }.map {
            "unknown option '\($0)'\(Self.suggestion(for: $0, of: known))"
        }
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? command._commandName
    }

    private static func suggestion(for word: String, of names: [String]) -> String {
        let near = names.map { ($0, distance($0, word)) }.filter { $0.1 <= 2 && $0.1 < word.count }
        return near.min { $0.1 < $1.1 }.map { ". Did you mean '\($0.0)'?" } ?? ""
    }

    /// Returns the edit distance between two words (Levenshtein).
    private static func distance(_ one: String, _ other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (line, letter) in one.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, its) in other.enumerated() {
                let replaced = diagonal + (letter == its ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }
}
