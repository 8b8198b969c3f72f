import CommandKit
import Foundation
import JSONBytes

/// A parsed line of the shell.
enum ShellInstruction: Hashable, Sendable {
    case subscribe([String])
    case unsubscribe([String])
    case trigger(channel: String, event: String, data: String)
    case members(channel: String, user: String?)
    case channels
    case status
    case signIn
    case connect
    case disconnect
    case help(ShellVerb?)
    case quit

    /// Returns `nil` for an empty line and for one that begins with `#`.
    init?(_ line: String) throws(CommandFailure) {
        guard let first = line.unicodeScalars.first(where: { !$0.properties.isWhitespace }), first != "#" else {
            return nil
        }
        let words = if let words = Self.wordsBeforeJSON(line) { words } else { try ShellWords.split(line) }
        let arguments = Array(words.dropFirst())
        let verb = try Self.verb(words.first ?? "")
        guard verb.argumentCount.contains(arguments.count) else {
            throw CommandFailure(
                .badData,
                verb.argumentCount.upperBound == 0 ? "\(words[0]) takes no arguments" : "usage: \(verb.usage)")
        }
        switch verb {
        case .subscribe: self = .subscribe(arguments)
        case .unsubscribe: self = .unsubscribe(arguments)
        case .trigger: self = .trigger(channel: arguments[0], event: arguments[1], data: arguments[2])
        case .members: self = .members(channel: arguments[0], user: arguments.count > 1 ? arguments[1] : nil)
        case .channels: self = .channels
        case .status: self = .status
        case .signIn: self = .signIn
        case .connect: self = .connect
        case .disconnect: self = .disconnect
        case .help: self = .help(try arguments.first.map(Self.verb))
        case .quit: self = .quit
        }
    }

    /// Returns the words of an event whose data is an unquoted object or array, which would lose its own quotes if
    /// split into words; `nil` for all other lines.
    private static func wordsBeforeJSON(_ line: String) -> [String]? {
        let words = ShellWords(line)
        guard words.complete.first == ShellVerb.trigger.rawValue, words.starts.count > 3 else { return nil }
        let data = line[words.starts[3]...].trimmingCharacters(in: .whitespaces)
        guard data.hasPrefix("{") || data.hasPrefix("["), JSONView.isJSON(data) else { return nil }
        return words.complete.prefix(3) + [data]
    }

    private static func verb(_ word: String) throws(CommandFailure) -> ShellVerb {
        guard let verb = word == "exit" ? .quit : ShellVerb(rawValue: word) else {
            throw CommandFailure(.badData, "“\(word)” is not a command; help lists them")
        }
        return verb
    }
}
