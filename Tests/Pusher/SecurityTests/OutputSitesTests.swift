import Foundation
import Testing

/// That every text of a peer goes through `PeerText` on its way out holds because there are few ways out, and this finds a
/// new one.
struct OutputSitesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources", directoryHint: .isDirectory)

    /// Code without comments, by its place below the folder of its room.
    private static func lines() throws -> [(place: String, code: String)] {
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var lines: [(String, String)] = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let place = file.path.dropFirst(sources.path.count).drop { $0 == "/" }.drop { $0 != "/" }.dropFirst()
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let code = line.drop { $0 == " " }
                if !code.hasPrefix("//") { lines.append((String(place), String(code))) }
            }
        }
        return lines
    }

    /// The ways out, and the files that have them.
    private static let ways: [(pattern: String, places: Set<String>)] = [
        // Logs.
        (
            #"[lL]og(ger)?\)?[?!]?\.(trace|debug|info|notice|warning|error|critical|log)\("#,
            []
        ),
        (
            #"log\(level:|Logger\.Metadata|MetadataValue|metadata:"#,
            [
                "PeerLog/Logger+PeerText.swift",
                // What every handler must have.
                "pusher-cli/Shell/ConsoleLogHandler.swift",
            ]
        ),
        (
            #"debugLog\(message:"#,
            [
                "PusherSwift/PusherDelegate.swift", "PusherSwift/Client/ClientCore+Callbacks.swift",
            ]
        ),
        // Standard streams. In pusher-cli what prints are methods of types of its own, which take `TerminalText`.
        (#"\b(Swift\.print|debugPrint|dump|NSLog|fputs|puts|printf|vprintf|fprintf|perror|syslog)\("#, []),
        (
            #"FileHandle\.standard(Output|Error)|STDOUT_FILENO|STDERR_FILENO|\b(stdout|stderr)\b"#,
            [
                "pusher-cli/Output/StandardStreams.swift",
                // Whether there is a terminal, and what a process does not inherit.
                "pusher-cli/Shell/ShellConsole.swift", "pusher-cli/Output/EventProcesses.swift",
            ]
        ),
        (#"\/dev\/tty"#, ["pusher-cli/SecretInput.swift", "pusher-cli/TerminalQuestion.swift"]),
        (#"StreamLogHandler"#, ["pusher-cli/Output/StandardStreams.swift"]),
        (
            #"StandardOutput\.write\(.*\.utf8\b"#,
            [
                "pusher-cli/Commands/DecryptCommand.swift",
                // The program's own help.
                "pusher-cli/Execution.swift",
                // Values that were escaped as the form has it; into a pipe with -0, as they are.
                "pusher-cli/Output/StreamForm.swift",
                // What moves the cursor, around `TerminalText`.
                "pusher-cli/Shell/ShellConsole.swift",
            ]
        ),
        (
            #"writeToTerminal\("#,
            [
                "pusher-cli/Output/StandardStreams.swift", "pusher-cli/Output/StatusLine.swift",
                "pusher-cli/Shell/ShellConsole.swift",
            ]
        ),
        // Text that is trusted: interpolated strings and literals alone.
        (
            #"TerminalText\(stringLiteral:|TerminalText\(stringInterpolation:|TerminalText\(painted:"#,
            [
                "pusher-cli/Output/TerminalText.swift"
            ]
        ),
        (#"PeerText\(stringLiteral:"#, []),
    ]

    @Test func everyWayOutIsKnown() throws {
        let lines = try Self.lines()
        #expect(lines.count > 10_000)
        for (pattern, known) in Self.ways {
            let way = try Regex(pattern)
            let found = lines.filter { $0.code.contains(way) }
            for site in found where !known.contains(site.place) {
                Issue.record("\(site.place) has a way out that nothing is known of: \(site.code)")
            }
            #expect(known.subtracting(found.map(\.place)) == [])
        }
    }

    /// `print` is of types of `pusher-cli` only.
    @Test func nothingPrintsByItself() throws {
        let calls = try Self.lines().filter { $0.code.contains(#/(^|[^.\w])print\(/#) }
        let places = Set(calls.map(\.place))
        #expect(
            places == [
                "pusher-cli/EventStream.swift", "pusher-cli/Commands/Matrix/MatrixPushGatewayCommand.swift",
                "pusher-cli/Shell/ShellSession.swift", "pusher-cli/Shell/ShellOutput.swift",
                "pusher-cli/Shell/ShellConsole.swift",
            ])
    }

    /// Whatever is thrown to an application makes a line of its words. Those of `PusherTemporaryFailure` are the application's
    /// own, and come out of a `PusherError`; those of the others that are left out are all ours.
    @Test func errorsAreMadeOfLines() throws {
        let lines = try Self.lines()
        let errors = Set(
            lines.filter { $0.code.contains(#/^public (struct|enum) \w+: .*\bError\b/#) }.map(\.place)
        ).subtracting([
            "PusherSwift/Authorization/AuthMethod.swift", "MatrixProtocol/Events/MXDecryptionError.swift",
            "MatrixKit/Formatter/MXKEventFormatter.swift", "TerminalUI/Device/TerminalError.swift",
            "MatrixKitTerminal/Settings/MXKKeyMap.swift",
            "TerminalUI/Images/PNG.swift", "TerminalUI/Images/JPEG.swift",
        ])
        #expect(errors.count == 9)
        for place in errors.union(["Transport/TransportError.swift", "Realtime/EventSources/RealtimeEventSource.swift"])
        {
            #expect(lines.contains { $0.place == place && $0.code.contains("PeerText(") }, "\(place)")
        }
    }
}
