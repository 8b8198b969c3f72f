import Foundation
import TestSupport
import Testing

/// Every peer's text passes through `PeerText` on output, because there are few output sites. This test finds new ones.
struct OutputSitesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources", directoryHint: .isDirectory)

    /// Returns matching lines of code without comments, with the paths of their files below their room's folder.
    ///
    /// Uses `grep`, because a `Regex` takes half a minute for all sources in a debug build.
    private static func lines(with pattern: String) async throws -> [(place: String, code: String)] {
        let found = try await ChildProcess.run(
            "grep", ["-rP", "--include=*.swift", "-e", pattern, "."], folder: sources)
        try #require(found.status < 2, "\(found.errors)")
        return found.text.split(separator: "\n").compactMap { line in
            // ./Core/Basics/Lock.swift:    code
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let place = line[..<colon].split(separator: "/").dropFirst(2).joined(separator: "/")
            let code = line[colon...].dropFirst().drop { $0 == " " }
            return code.hasPrefix("//") ? nil : (place, String(code))
        }
    }

    /// The output sites and their files.
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
                // Required of every handler.
                "CommandKit/Output/ConsoleLogHandler.swift",
            ]
        ),
        (
            #"debugLog\(message:"#,
            [
                "PusherSwift/PusherDelegate.swift", "PusherSwift/Client/ClientCore+Callbacks.swift",
            ]
        ),
        // Standard streams. Printing in pusher-cli uses methods of its own types, which take `TerminalText`.
        (#"\b(Swift\.print|debugPrint|dump|NSLog|fputs|puts|printf|vprintf|fprintf|perror|syslog)\("#, []),
        (
            #"FileHandle\.standard(Output|Error)|STDOUT_FILENO|STDERR_FILENO|\b(stdout|stderr)\b"#,
            [
                "CommandKit/Output/StandardStreams.swift",
                // Checks for a terminal, and the streams that a child process does not inherit.
                "PusherCommands/Shell/ShellConsole.swift", "CommandKit/Stream/EventProcesses.swift",
            ]
        ),
        (#"\/dev\/tty"#, ["CommandKit/Input/SecretInput.swift", "CommandKit/Input/TerminalQuestion.swift"]),
        (#"StreamLogHandler"#, ["CommandKit/Output/StandardStreams.swift"]),
        (
            #"StandardOutput\.write\(.*\.utf8\b"#,
            [
                "PusherCommands/Commands/DecryptCommand.swift",
                // The program's own help.
                "CommandKit/Execution/Execution.swift",
                // Values escaped as the form requires; unchanged with -0 into a pipe.
                "CommandKit/Stream/StreamForm.swift",
                // Cursor movement around `TerminalText`.
                "PusherCommands/Shell/ShellConsole.swift",
            ]
        ),
        (
            #"writeToTerminal\("#,
            [
                "CommandKit/Output/StandardStreams.swift", "CommandKit/Output/StatusLine.swift",
                "PusherCommands/Shell/ShellConsole.swift",
            ]
        ),
        // Trusted text: only interpolated strings and literals.
        (
            #"TerminalText\(stringLiteral:|TerminalText\(stringInterpolation:|TerminalText\(painted:"#,
            [
                "CommandKit/Output/TerminalText.swift"
            ]
        ),
        (#"PeerText\(stringLiteral:"#, []),
    ]

    @Test func everyWayOutIsKnown() async throws {
        let all = try await Self.lines(with: "")
        #expect(all.count > 10_000)
        for (pattern, known) in Self.ways {
            let found = try await Self.lines(with: pattern)
            for site in found where !known.contains(site.place) {
                Issue.record("\(site.place) has a way out that nothing is known of: \(site.code)")
            }
            #expect(known.subtracting(found.map(\.place)) == [])
        }
    }

    /// Only types of `pusher-cli` have a `print`.
    @Test func nothingPrintsByItself() async throws {
        let places = try await Set(Self.lines(with: #"(^|[^.\w])print\("#).map(\.place))
        #expect(
            places == [
                "CommandKit/Stream/EventStream.swift", "MatrixCommands/Commands/MatrixPushGatewayCommand.swift",
                "PusherCommands/Shell/ShellSession.swift", "PusherCommands/Shell/ShellOutput.swift",
                "PusherCommands/Shell/ShellConsole.swift",
            ])
    }

    /// Every error thrown to an application makes a line of its text. The text of `PusherTemporaryFailure` is the
    /// application's own and is part of a `PusherError`; the texts of the other excluded errors are all ours.
    @Test func errorsAreMadeOfLines() async throws {
        let errors = try await Set(
            Self.lines(with: #"^ *public (struct|enum) \w+: .*\bError\b"#).map(\.place)
        ).subtracting([
            "PusherSwift/Authorization/AuthMethod.swift", "MatrixProtocol/Events/MXDecryptionError.swift",
            "MatrixKit/Formatter/MXKEventFormatter.swift", "TerminalUI/Device/TerminalError.swift",
            "MatrixKitTerminal/Settings/MXKKeyMap.swift",
            "TerminalUI/Images/PNG.swift", "TerminalUI/Images/JPEG.swift",
        ])
        #expect(errors.count == 9)
        let makers = try await Set(Self.lines(with: #"PeerText\("#).map(\.place))
        #expect(makers.isSuperset(of: errors))
        #expect(
            makers.isSuperset(of: ["Transport/TransportError.swift", "Realtime/EventSources/RealtimeEventSource.swift"])
        )
    }
}
