import Foundation
import TestSupport
import Transport

/// One run of `pusher-cli`, as built beside the tests.
final class CommandRun: Sendable {
    private struct State {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var status: Int32?
        var openPipes = 0
    }

    private let process: Lock<Process>
    private let state = Lock(State())

    /// - Parameter closesOutput: Nobody reads the standard output.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: String = "", closesOutput: Bool = false
    ) throws {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = arguments
        // Nothing of the tests' environment but what programs need to run.
        process.environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS"].contains($0.key) }
            .merging(environment) { $1 }
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (inputPipe, outputPipe, errorPipe)
        self.process = Lock(process)
        if !closesOutput { collect(outputPipe) { $0.output += $1 } }
        collect(errorPipe) { $0.errors += $1 }
        process.terminationHandler = { [state] process in
            state.withLock { $0.status = process.terminationStatus }
        }
        try process.run()
        if closesOutput { try outputPipe.fileHandleForReading.close() }
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
    }

    deinit {
        process.withLock { if $0.isRunning { $0.terminate() } }
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
        pipe.fileHandleForReading.readabilityHandler = { [state] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            state.withLock {
                add(&$0, data)
                if data.isEmpty { $0.openPipes -= 1 }
            }
        }
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
    func interrupt() { process.withLock { $0.interrupt() } }
}
