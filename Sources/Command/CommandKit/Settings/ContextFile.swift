package import Foundation

/// The user's contexts: applications and their servers, by name.
package struct ContextFile {
    package struct Contents: Codable, Equatable {
        package var current: String?
        /// Whether the user chose the current context; false if it was just the first one added. `nil` in files of
        /// older versions, where it counts as chosen.
        package var isChosen: Bool?
        package var contexts: [String: Settings] = [:]
    }

    private let store = UserFile("contexts.json", ifReadByOthers: "change the application's secret")

    package init() {}

    package var file: URL { store.file }

    package func load() throws(CommandFailure) -> Contents {
        guard let data = try store.read() else { return Contents() }
        guard let contents = try? JSONDecoder().decode(Contents.self, from: data) else {
            throw CommandFailure(
                .badData, "\(file.path) is not in the format of pusher-cli context: delete it, and add contexts again")
        }
        return contents
    }

    /// Changes the file under a lock that excludes other commands.
    package func change(_ body: (inout Contents) throws(CommandFailure) -> Void) throws(CommandFailure) {
        try store.locking { () throws(CommandFailure) in
            var contents = try load()
            try body(&contents)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            guard let data = try? encoder.encode(contents) else {
                throw CommandFailure(.badData, "the contexts cannot be written as JSON")
            }
            try store.write(data)
        }
    }

    /// Returns the context with a name.
    package func context(named name: String) throws(CommandFailure) -> Settings {
        let contents = try load()
        guard var context = contents.contexts[name] else { throw Self.unknown(name, contents) }
        context.origin = .context(name)
        return context
    }

    package static func unknown(_ name: String, _ contents: Contents) -> CommandFailure {
        let names = contents.contexts.keys.sorted()
        return CommandFailure(
            .wrongUse,
            names.isEmpty
                ? "there are no contexts yet: create one with pusher-cli context add"
                : "there is no context “\(name)”, only \(names.inWords())")
    }

    /// Returns the server for commands that do not name one: the chosen context, or else a running `serve`, or else the
    /// context that was added first; `nil` if there is none.
    package func current() throws(CommandFailure) -> Settings? {
        let contents = try load()
        guard let name = contents.current, var context = contents.contexts[name] else {
            return ServedApplication.current()
        }
        if contents.isChosen == false, let served = ServedApplication.current() { return served }
        context.origin = .context(name)
        return context
    }
}
