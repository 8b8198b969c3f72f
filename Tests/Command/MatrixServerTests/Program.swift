import Basics
import Foundation
import Glibc
import TestSupport

/// A program of the repository, with its output line by line.
final class Program: Sendable {
    struct Run: Sendable {
        let status: Int32
        let output: [String]

        /// The lines that are JSON objects.
        var objects: [[String: Any]] { output.compactMap { Program.object($0) } }
    }

    private struct State {
        var output = Data()
        var process: ChildProcess?
        var status: Int32?
        var input: FileHandle?
    }

    private let path: String
    private let arguments: [String]
    private let environment: [String: String]
    private let state = Lock(State())

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// - Parameter path: The path relative to the repository's root.
    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) {
        self.path = Self.root.appending(path: path).path
        self.arguments = arguments
        self.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }

    deinit {
        state.withLock { state in
            if let process = state.process, state.status == nil { Glibc.kill(process.id, SIGTERM) }
        }
    }

    /// Starts the program, and returns at once. The program is terminated once nothing refers to it anymore.
    ///
    /// - Parameter takesInput: Whether to provide a standard input for ``write(_:)``.
    func start(takesInput: Bool = false) throws {
        let pipe = Pipe()
        let input = takesInput ? Pipe() : nil
        let process = try ChildProcess(
            path, arguments, environment: environment, folder: Self.root, input: input?.fileHandleForReading,
            output: pipe.fileHandleForWriting, errors: .standardError)
        try pipe.fileHandleForWriting.close()
        try input?.fileHandleForReading.close()
        state.withLock { ($0.process, $0.input) = (process, input?.fileHandleForWriting) }
        Task { [state, reader = pipe.fileHandleForReading] in
            await onThread {
                while case let data = reader.availableData, !data.isEmpty { state.withLock { $0.output += data } }
            }
            let status = await process.status()
            state.withLock { $0.status = status }
        }
    }

    /// Writes a line of JSON to its input.
    func write(_ line: [String]) throws {
        let line = try JSONEncoder().encode(line) + Data("\n".utf8)
        try state.withLock { $0.input }?.write(contentsOf: line)
    }

    /// Runs it from start to end with the whole text as its input.
    func run(reading text: String) async throws -> Run {
        try start(takesInput: true)
        let input = state.withLock { $0.input }
        await onThread { try? input?.write(contentsOf: Data(text.utf8)) }
        try endInput()
        return try await end()
    }

    func endInput() throws { try state.withLock { $0.input.take() }?.close() }

    /// Kills it like `kill -9`.
    func kill() { _ = state.withLock { state in state.process.map { Glibc.kill($0.id, SIGKILL) } } }

    var output: [String] {
        String(decoding: state.withLock { $0.output }, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits until a line is a JSON object for which `condition` holds.
    func waitFor(
        within bound: Duration = .seconds(60), _ condition: @Sendable ([String: Any]) -> Bool
    ) async -> Bool {
        await eventually(within: bound) { self.output.compactMap { Self.object($0) }.contains(where: condition) }
    }

    private struct DidNotEnd: Error {}

    /// Waits for its end, and returns its output.
    func end() async throws -> Run {
        guard await eventually({ self.state.withLock { $0.status != nil } }),
            let status = state.withLock({ $0.status })
        else { throw DidNotEnd() }
        return Run(status: status, output: output)
    }

    func run() async throws -> Run {
        try start()
        return try await end()
    }

    private static func object(_ line: String) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }
}
