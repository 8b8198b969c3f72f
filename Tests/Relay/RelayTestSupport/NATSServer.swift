import Basics
import Foundation
import Glibc
import TestSupport

/// A `nats-server` for a single test, with its own free port and store.
package final class NATSServer: Sendable {
    /// Whether to run these tests, which need the machine for themselves: `make -C Lab relay-test` does.
    package static let isWanted = ProcessInfo.processInfo.environment["NATS_TESTS"] != nil

    package struct NotReady: Error {
        let log: String
    }

    package let port: Int
    private let folder: URL
    private let arguments: [String]
    private let process: Lock<ChildProcess?>

    package var url: String { "nats://127.0.0.1:\(port)" }

    /// - Parameter configuration: Lines of a configuration file, in addition to port and store.
    package convenience init(configuration: String = "") async throws {
        let folder = try Self.makeFolder()
        try await self.init(folder: folder, port: FreePort.next(), configuration: configuration)
    }

    private init(folder: URL, port: Int, configuration: String) async throws {
        self.folder = folder
        self.port = port
        let file = folder.appending(path: "\(port).conf")
        let common = """
            listen: 127.0.0.1:\(port)
            jetstream { store_dir: "\(folder.path)/\(port)", max_file_store: 1GB, max_memory_store: 64MB }

            """
        try Data((common + configuration).utf8).write(to: file)
        arguments = ["-c", file.path, "-l", folder.appending(path: "\(port).log").path]
        process = Lock(nil)
        try start()
        try await waitUntilReachable()
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Returns three replicating servers.
    package static func cluster(configuration: String = "") async throws -> [NATSServer] {
        let ports = try (0..<3).map { _ in (client: try FreePort.next(), route: try FreePort.next()) }
        let routes = ports.map { "\"nats://127.0.0.1:\($0.route)\"" }.joined(separator: ", ")
        var servers: [NATSServer] = []
        for (index, port) in ports.enumerated() {
            let cluster = """
                server_name: s\(index)
                cluster { name: test, listen: 127.0.0.1:\(port.route), no_advertise: true, routes: [\(routes)] }

                """
            servers.append(
                try await NATSServer(
                    folder: makeFolder(), port: port.client, configuration: cluster + configuration))
        }
        return servers
    }

    // MARK: Faults

    package func start() throws {
        let child = try ChildProcess("nats-server", arguments)
        process.withLock { $0 = child }
    }

    /// Kills the server with SIGKILL.
    package func kill() {
        let child = process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let child else { return }
        Glibc.kill(child.id, SIGKILL)
        waitpid(child.id, nil, 0)
    }

    /// Stops the server with SIGSTOP. Returns when all its threads have stopped.
    package func stop() {
        guard let id = process.withLock({ $0 })?.id else { return }
        Glibc.kill(id, SIGSTOP)
        var status: Int32 = 0
        waitpid(id, &status, WUNTRACED)
    }

    package func resume() { process.withLock { $0 }.map { _ = Glibc.kill($0.id, SIGCONT) } }

    // MARK: Readiness

    package func waitUntilReachable() async throws {
        let port = port
        guard await eventually(within: .seconds(15), { FreePort.isTaken(port) }) else { throw NotReady(log: log) }
    }

    package var log: String {
        (try? String(contentsOf: folder.appending(path: "\(port).log"), encoding: .utf8)) ?? ""
    }

    private static func makeFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "nats-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
