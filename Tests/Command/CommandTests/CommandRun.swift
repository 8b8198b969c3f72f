import Basics
import Foundation
import TestSupport
import Testing

/// One run of `pusher-cli`, as built with the tests.
final class CommandRun: Sendable {
    private struct State {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var status: Int32?
        var openPipes = 0
    }

    private let process: ChildProcess
    private let state = Lock(State())

    /// A separate configuration folder, unless the given environment names another one.
    private let configuration: String

    /// The write end of its terminal or standard input; `nil` once closed.
    private let keyboard: Lock<FileHandle?>

    /// - Parameters:
    ///   - closesOutput: Whether the reading end of standard output is closed.
    ///   - closesErrors: Whether the reading end of standard error is closed.
    ///   - outputFile: A file for standard output instead of a pipe.
    ///   - lacksPrivileges: Whether to prevent it from binding privileged ports, even if the tests' user may.
    ///   - isAtTerminal: Whether to attach both streams to a terminal, at which ``type(_:)`` types.
    ///   - keepsInput: Whether standard input stays open after `input`, until ``endInput()``.
    ///   - redirection: A redirection in shell syntax, such as `<&-` for no standard input at all.
    ///   - limits: A shell command to run first, such as `ulimit -n 64`.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", closesOutput: Bool = false,
        closesErrors: Bool = false, outputFile: String? = nil, lacksPrivileges: Bool = false,
        isAtTerminal: Bool = false, keepsInput: Bool = false, redirection: String? = nil, limits: String? = nil
    ) throws {
        // Passes only the variables of the tests' environment that programs need to run.
        configuration = FileManager.default.temporaryDirectory.appending(path: "pusher-cli-\(UUID())").path
        let environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }
            .merging(["XDG_CONFIG_HOME": configuration, "XDG_DATA_HOME": configuration + "/data"]) { $1 }
            .merging(environment) { $1 }
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        let line = ([Self.executable.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let (program, programArguments) =
            if isAtTerminal {
                ("script", ["--quiet", "--return", "--command", line, "/dev/null"])
            } else if let limits {
                ("sh", ["-c", limits + #" && exec "$0" "$@""#, Self.executable.path] + arguments)
            } else if let redirection {
                ("sh", ["-c", #"exec "$0" "$@" "# + redirection, Self.executable.path] + arguments)
            } else if lacksPrivileges, geteuid() == 0 {
                (
                    "setpriv",
                    ["--bounding-set", "-net_bind_service", "--inh-caps", "-net_bind_service", Self.executable.path]
                        + arguments
                )
            } else {
                (Self.executable.path, arguments)
            }
        process = try ChildProcess(
            program, programArguments,
            environment: environment, input: inputPipe.fileHandleForReading,
            output: outputFile.flatMap { FileHandle(forWritingAtPath: $0) } ?? outputPipe.fileHandleForWriting,
            errors: errorPipe.fileHandleForWriting)
        keyboard = Lock(isAtTerminal || keepsInput ? inputPipe.fileHandleForWriting : nil)
        for handle in [
            inputPipe.fileHandleForReading, outputPipe.fileHandleForWriting, errorPipe.fileHandleForWriting,
        ] { try handle.close() }
        if closesOutput {
            try outputPipe.fileHandleForReading.close()
        } else {
            collect(outputPipe) { $0.output += $1 }
        }
        if closesErrors {
            try errorPipe.fileHandleForReading.close()
        } else {
            collect(errorPipe) { $0.errors += $1 }
        }
        Task { [process, state] in
            let status = await process.status()
            state.withLock { $0.status = status }
        }
        if isAtTerminal { return }
        if keepsInput {
            try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        } else {
            Thread.detachNewThread { [writer = inputPipe.fileHandleForWriting] in
                try? writer.write(contentsOf: Data(input.utf8))
                try? writer.close()
            }
        }
    }

    func type(_ text: String) throws { try keyboard.withLock { try $0?.write(contentsOf: Data(text.utf8)) } }

    /// The number of unread bytes in its standard input.
    var unreadInput: Int {
        var count = Int32()
        keyboard.withLock { if let keyboard = $0 { _ = ioctl(keyboard.fileDescriptor, UInt(FIONREAD), &count) } }
        return Int(count)
    }

    func endInput() throws {
        try keyboard.withLock { keyboard in
            try keyboard?.close()
            keyboard = nil
        }
    }

    deinit {
        signal(SIGTERM)
        try? FileManager.default.removeItem(atPath: configuration)
    }

    /// `pusher-cli` is next to the test bundle.
    static let executable: URL = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folder =
            bundle?.deletingLastPathComponent()
            ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        return folder.appending(path: "pusher-cli")
    }()

    private func collect(_ pipe: Pipe, _ add: @escaping @Sendable (inout State, Data) -> Void) {
        state.withLock { $0.openPipes += 1 }
        Thread.detachNewThread { [state, reader = pipe.fileHandleForReading] in
            while case let data = reader.availableData, !data.isEmpty { state.withLock { add(&$0, data) } }
            state.withLock { $0.openPipes -= 1 }
        }
    }

    /// Its arguments and environment in the process list; empty once it has ended.
    var listing: String {
        ["cmdline", "environ"].map { name in
            let data = FileManager.default.contents(atPath: "/proc/\(process.id)/\(name)") ?? Data()
            return String(decoding: data, as: UTF8.self)
        }.joined()
    }

    var outputText: String { String(decoding: state.withLock { $0.output }, as: UTF8.self) }

    var output: [String] { lines(state.withLock { $0.output }) }

    var errors: [String] { lines(state.withLock { $0.errors }) }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split { $0 == "\n" || $0 == "\r\n" }.map(String.init)
    }

    func waitFor(_ condition: @Sendable ([String]) -> Bool) async -> Bool {
        await eventually { condition(self.output) }
    }

    /// Returns the exit status once all output has been read; `nil` if it is still running after a minute.
    func status(sourceLocation: SourceLocation = #_sourceLocation) async -> Int32? {
        _ = await eventually { self.state.withLock { $0.status != nil && $0.openPipes == 0 } }
        for line in errors where line.contains(Self.internals) {
            Issue.record("a user would not understand: \(line)", sourceLocation: sourceLocation)
        }
        return state.withLock { $0.status }
    }

    /// Names of the library and of underlying systems, which no message may contain.
    private static var internals: Regex<Substring> {
        #/CancellationError|NSCocoaErrorDomain|NSPOSIXErrorDomain|Error Domain=|errno|Optional\(|Swift\.|descriptor:|failedTo[A-Z]|maximum[A-Z]|encryptionMasterKey|authMethod|AuthMethod|useTLS|caFile|no auth method|fatalError/#
    }

    var processID: Int32 { process.id }

    /// Sends Ctrl-C.
    func interrupt() { signal(SIGINT) }

    var isRunning: Bool { state.withLock { $0.status == nil } }

    func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(process.id, number) } }
    }
}
