import Foundation
import Testing

/// Reruns a test in a process with its own namespaces, where it may mount over the system's files.
///
/// The calling test passes ``run(_:_:prepare:environment:)`` the name of another test, which has the trait
/// `.enabled(if: Namespace.isInside)` and ends with ``pass()``.
package enum Namespace {
    private static let marker = "TEST_NAMESPACE_MARKER"

    /// Whether this process runs a test inside.
    package static let isInside = ProcessInfo.processInfo.environment[marker] != nil

    /// The command that creates namespaces; `nil` where the system does not permit them.
    private static let isolation = Task { () -> [String]? in
        for options in [["--map-root-user", "--net", "--mount"], ["--net", "--mount"]] {
            if await (try? ChildProcess("unshare", options + ["true"]))?.status() == 0 { return options }
        }
        return nil
    }

    @Sendable
    package static func isPermitted() async -> Bool { await isolation.value != nil }

    /// Reports, from inside, that the test has come to its end.
    package static func pass() throws {
        try Data().write(to: URL(filePath: ProcessInfo.processInfo.environment[marker] ?? ""))
    }

    /// - Parameters:
    ///   - test: An argument for `--filter`.
    ///   - prepare: Shell commands to run first. The loopback interface is up.
    ///   - environment: Variables to add to those of this process.
    /// - Returns: The output of the process; `nil` if the test has come to its end and passed.
    package static func run(
        _ test: String, prepare: String, environment: [String: String] = [:]
    ) async throws -> String? {
        let folder = FileManager.default.temporaryDirectory.appending(path: "namespace-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (passed, log) = (folder.appending(path: "passed"), folder.appending(path: "log"))
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let loopbackUp = """
            import fcntl, socket, struct
            fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))
            """
        let script = "set -e\npython3 -c '\(loopbackUp)'\n\(prepare)\nexec \"$@\""
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        variables[marker] = passed.path
        let process = try ChildProcess(
            "unshare",
            (await isolation.value ?? []) + [
                "sh", "-c", script, "sh", binary, "--testing-library", "swift-testing", "--filter", test,
            ], environment: variables, output: output, errors: output)
        let status = await process.status()
        if status == 0, FileManager.default.fileExists(atPath: passed.path) { return nil }
        return "status \(status): " + String(decoding: (try? Data(contentsOf: log)) ?? Data(), as: UTF8.self)
    }
}
