import Basics
public import Foundation
public import MatrixKit
import TerminalUI

/// The user's settings for the screen of a chat: keys, colours, visible parts.
///
/// They are stored in a file that can also be edited by hand, one setting per line: `theme = dark`, `key next-unread =
/// alt-n f3`. Lines that begin with `#` are comments. A change by the program replaces one line and keeps all others.
@MainActor
public final class MXKChatSettings {
    /// A setting that is on or off. Raw values are the names in the file.
    public enum Toggle: String, CaseIterable, Sendable {
        /// See ``summary``.
        case members, receipts, images, graphics, mouse, emoji, spoilers

        /// The description for the help.
        public var summary: String {
            switch self {
            case .members: "the members beside the room"
            case .receipts: "who has read what"
            case .images: "images"
            case .graphics: "their pixels, where the terminal can show them; half blocks otherwise"
            case .mouse: "reports of the mouse"
            case .emoji: "emoji by their names"
            case .spoilers: "hidden parts of messages"
            }
        }

        var usual: Bool {
            switch self {
            case .members, .receipts, .images, .graphics: true
            case .mouse, .emoji, .spoilers: false
            }
        }
    }

    private static let theme = "theme"
    private static let order = "order"
    static let orders: [(String, MXKRecentsOrder)] = [
        ("activity", .activity), ("unread", .unreadFirst), ("name", .name),
    ]

    /// The names that ``set(_:to:)`` accepts.
    public static var names: [String] { [theme, order] + Toggle.allCases.map(\.rawValue) }

    /// The key map.
    public private(set) var keys = MXKKeyMap()
    /// The errors in the file by line, as a message to the user; `nil` if there are none. Invalid settings are ignored.
    public private(set) var trouble: String?

    private let file: URL?
    /// Never overwrite a file that could not be read.
    private var isUnreadable = false
    private var lines: [String] = []
    private var values: [String: String] = [:]

    /// The file `matrixkit/chat.conf` in the user's configuration folder, beside the settings of the kit.
    public static var standardFile: URL? {
        MXKAppSettings.configurationFolder?.appending(path: "matrixkit").appending(path: "chat.conf")
    }

    /// - Parameter file: The file of the settings; `nil` keeps them in memory.
    public init(file: URL? = nil) {
        self.file = file
        guard let file, FileManager.default.fileExists(atPath: file.path) else { return }
        do {
            read(try Data(contentsOf: file), file)
        } catch {
            giveUp(file, " cannot be read: \(error.localizedDescription)")
        }
    }

    private func read(_ data: Data, _ file: URL) {
        let all = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in all.enumerated() {
            guard let line = String(validating: bytes, as: UTF8.self) else {
                return giveUp(file, ": line \(index + 1) is not UTF-8")
            }
            lines.append(line)
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        read(file)
    }

    private func giveUp(_ file: URL, _ words: String) {
        (lines, isUnreadable) = ([], true)
        trouble = "\(file.lastPathComponent)\(words); all settings are the usual ones"
    }

    // MARK: Reading

    private func read(_ file: URL) {
        var (problems, keyLines): ([(line: Int, words: String)], [MXKKeyMap.Action: Int]) = ([], [:])
        var changes: [MXKKeyMap.Action: [TerminalInput]] = [:]
        for (index, line) in lines.enumerated() {
            guard let (name, value) = Self.parts(line) else {
                let isNothing = line.allSatisfy(\.isWhitespace) || line.drop(while: \.isWhitespace).hasPrefix("#")
                if !isNothing { problems.append((index + 1, "expected “name = value”")) }
                continue
            }
            guard name.hasPrefix("key ") else {
                if let problem = Self.problem(name, value) {
                    problems.append((index + 1, problem))
                } else {
                    values[name] = value
                }
                continue
            }
            let actionName = name.dropFirst(4).trimmingCharacters(in: .whitespaces)
            guard let action = MXKKeyMap.Action(rawValue: actionName) else {
                problems.append((index + 1, "there is no action “\(actionName)”"))
                continue
            }
            let words = value.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
            if let wrong = words.first(where: { MXKKeyMap.key(named: $0) == nil }) {
                problems.append((index + 1, "there is no key “\(wrong)”"))
                continue
            }
            changes[action] = words.compactMap(MXKKeyMap.key)
            keyLines[action] = index + 1
        }
        do throws(MXKKeyMap.Problem) {
            keys = try MXKKeyMap(changes)
        } catch {
            problems.append((keyLines[error.action] ?? 0, error.words + "; all keys are the usual ones"))
        }
        guard !problems.isEmpty else { return }
        let words = problems.sorted { $0.line < $1.line }.map { "line \($0.line): \($0.words)" }
        trouble = "\(file.lastPathComponent): " + words.joined(separator: "; ")
    }

    private static func parts(_ line: String) -> (name: String, value: String)? {
        let line = line.drop(while: \.isWhitespace)
        guard !line.hasPrefix("#"), let sign = line.firstIndex(of: "=") else { return nil }
        let name = line[..<sign].trimmingCharacters(in: .whitespaces)
        return (name, line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces))
    }

    /// Returns the reason why a value is invalid for a setting, as a message to the user; `nil` if it is valid.
    public static func problem(_ name: String, _ value: String) -> String? {
        func choice(_ choices: [String]) -> String? {
            choices.contains(value) ? nil : "\(name) is one of \(choices.joined(separator: ", "))"
        }
        if name == theme { return choice(MXKTheme.named.keys.sorted()) }
        if name == order { return choice(orders.map(\.0)) }
        guard Toggle(rawValue: name) != nil else {
            return "there is no setting “\(name)”: there are \(names.joined(separator: ", "))"
        }
        return choice(["on", "off"])
    }

    // MARK: Values

    /// The selected theme; `nil` if there is none.
    public var theme: MXKTheme? { values[Self.theme].flatMap { MXKTheme.named[$0] } }

    /// The order of rooms. The default is by activity.
    public var order: MXKRecentsOrder { Self.orders.first { $0.0 == values[Self.order] }?.1 ?? .activity }

    /// Whether a setting is on.
    public subscript(toggle: Toggle) -> Bool {
        values[toggle.rawValue].map { $0 == "on" } ?? toggle.usual
    }

    /// Changes a setting and writes it to the file.
    ///
    /// - Returns: An error message for the user; `nil` on success.
    public func set(_ name: String, to value: String) -> String? {
        if let problem = Self.problem(name, value) { return problem }
        values[name] = value
        let line = "\(name) = \(value)"
        if let index = lines.lastIndex(where: { Self.parts($0)?.name == name }) {
            lines[index] = line
        } else {
            lines.append(line)
        }
        guard let file else { return nil }
        guard !isUnreadable else {
            return "The setting holds for now, but \(file.path()) could not be written: what it says cannot be read"
        }
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try PrivateFile(file.path).replace(with: Data((lines.joined(separator: "\n") + "\n").utf8))
            return nil
        } catch let error as PrivateFileError {
            return "The setting holds for now, but \(file.lastPathComponent) could not be written: \(error)"
        } catch {
            return "The setting holds for now, but \(file.path()) could not be written: \(error.localizedDescription)"
        }
    }
}
