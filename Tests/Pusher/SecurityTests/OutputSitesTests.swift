import Foundation
import TestSupport
import Testing

/// That every text of a peer goes through `PeerText` on its way out holds because there are few ways out, and this finds a
/// new one.
struct OutputSitesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources", directoryHint: .isDirectory)

    /// Lines of code, by the places of their files below the folders of their rooms, without comments.
    ///
    /// By `grep`: a `Regex` takes half a minute for all sources in a debug build.
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
                "CommandKit/Output/ConsoleLogHandler.swift",
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
                "CommandKit/Output/StandardStreams.swift",
                // Whether there is a terminal, and what a process does not inherit.
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
                // Values that were escaped as the form has it; into a pipe with -0, as they are.
                "CommandKit/Stream/StreamForm.swift",
                // What moves the cursor, around `TerminalText`.
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
        // Text that is trusted: interpolated strings and literals alone.
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

    /// `print` is of types of `pusher-cli` only.
    @Test func nothingPrintsByItself() async throws {
        let places = try await Set(Self.lines(with: #"(^|[^.\w])print\("#).map(\.place))
        #expect(
            places == [
                "CommandKit/Stream/EventStream.swift", "MatrixCommands/Commands/MatrixPushGatewayCommand.swift",
                "PusherCommands/Shell/ShellSession.swift", "PusherCommands/Shell/ShellOutput.swift",
                "PusherCommands/Shell/ShellConsole.swift",
            ])
    }

    /// Whatever is thrown to an application makes a line of its words. Those of `PusherTemporaryFailure` are the application's
    /// own, and come out of a `PusherError`; those of the others that are left out are all ours.
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
