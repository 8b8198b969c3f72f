import Foundation
import TestSupport
import Basics

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

    /// What is typed at its terminal, if it has one.
    private let keyboard: FileHandle?

    /// - Parameters:
    ///   - closesOutput: Nobody reads the standard output.
    ///   - closesErrors: Nobody reads the standard error.
    ///   - outputFile: What the standard output is in place of a pipe.
    ///   - isAtTerminal: It has a terminal, at which ``type(_:)`` types; both its streams are that.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", closesOutput: Bool = false,
        closesErrors: Bool = false, outputFile: String? = nil, isAtTerminal: Bool = false
    ) throws {
        // Nothing of the tests' environment but what programs need to run.
        let environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }
            .merging(environment) { $1 }
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        let line = ([Self.executable.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        process = try ChildProcess(
            isAtTerminal ? "script" : Self.executable.path,
            isAtTerminal ? ["--quiet", "--return", "--command", line, "/dev/null"] : arguments,
            environment: environment, input: inputPipe.fileHandleForReading,
            output: outputFile.flatMap { FileHandle(forWritingAtPath: $0) } ?? outputPipe.fileHandleForWriting,
            errors: errorPipe.fileHandleForWriting)
        keyboard = isAtTerminal ? inputPipe.fileHandleForWriting : nil
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
        Thread.detachNewThread { [process, state] in
            let status = process.wait()
            state.withLock { $0.status = status }
        }
        if isAtTerminal { return }
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
    }

    func type(_ text: String) throws { try keyboard?.write(contentsOf: Data(text.utf8)) }

    deinit {
        signal(SIGTERM)
    }

    /// `pusher-cli` stands where the test bundle does.
    private static let executable: URL = {
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

    var output: [String] { lines(state.withLock { $0.output }) }

    var errors: [String] { lines(state.withLock { $0.errors }) }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func waitFor(_ condition: @Sendable ([String]) -> Bool) async -> Bool {
        await eventually { condition(self.output) }
    }

    /// The exit status, when all that it wrote has been read; nil if it is still running after a minute.
    func status() async -> Int32? {
        _ = await eventually { self.state.withLock { $0.status != nil && $0.openPipes == 0 } }
        return state.withLock { $0.status }
    }

    /// Ctrl-C.
    func interrupt() { signal(SIGINT) }

    private func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(process.id, number) } }
    }
}
