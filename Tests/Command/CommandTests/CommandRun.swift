import Basics
import Foundation
import TestSupport
import Testing

/// One run of `pusher-cli`, as built beside the tests.
final class CommandRun: Sendable {
    private struct State {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var status: Int32?
        var openPipes = 0
    }

    private let process: ChildProcess
    private let state = Lock(State())

    /// Its own folder of configuration, unless the environment given says another.
    private let configuration: String

    /// What is typed at its terminal, or written to its standard input; nil once that has ended.
    private let keyboard: Lock<FileHandle?>

    /// - Parameters:
    ///   - closesOutput: Nobody reads the standard output.
    ///   - closesErrors: Nobody reads the standard error.
    ///   - outputFile: What the standard output is in place of a pipe.
    ///   - lacksPrivileges: It may not bind privileged ports, even if the tests' user may.
    ///   - isAtTerminal: It has a terminal, at which ``type(_:)`` types; both its streams are that.
    ///   - keepsInput: Its standard input does not end with `input`, but with ``endInput()``.
    ///   - redirection: In the words of a shell, such as `<&-` for no standard input at all.
    ///   - limits: What a shell does before, such as `ulimit -n 64`.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", closesOutput: Bool = false,
        closesErrors: Bool = false, outputFile: String? = nil, lacksPrivileges: Bool = false,
        isAtTerminal: Bool = false, keepsInput: Bool = false, redirection: String? = nil, limits: String? = nil
    ) throws {
        // Nothing of the tests' environment but what programs need to run.
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

    /// Bytes of its standard input that it has not read yet.
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

    /// `pusher-cli` stands where the test bundle does.
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

    /// What the process list shows of it: arguments and environment; empty once it has ended.
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

    /// The exit status, when all that it wrote has been read; nil if it is still running after a minute.
    func status(sourceLocation: SourceLocation = #_sourceLocation) async -> Int32? {
        _ = await eventually { self.state.withLock { $0.status != nil && $0.openPipes == 0 } }
        for line in errors where line.contains(Self.internals) {
            Issue.record("a user would not understand: \(line)", sourceLocation: sourceLocation)
        }
        return state.withLock { $0.status }
    }

    /// What no message may show: names of the library and of the systems below it.
    private static var internals: Regex<Substring> {
        #/CancellationError|NSCocoaErrorDomain|NSPOSIXErrorDomain|Error Domain=|errno|Optional\(|Swift\.|descriptor:|failedTo[A-Z]|maximum[A-Z]|encryptionMasterKey|authMethod|AuthMethod|useTLS|caFile|no auth method|fatalError/#
    }

    var processID: Int32 { process.id }

    /// Ctrl-C.
    func interrupt() { signal(SIGINT) }

    var isRunning: Bool { state.withLock { $0.status == nil } }

    func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(process.id, number) } }
    }
}
