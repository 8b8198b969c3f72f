import CLinux
package import Foundation
import Glibc

/// A program that runs beside the tests. Unlike Foundation's `Process`, it inherits only its three standard streams: a
/// child does not keep a socket open when the socket's owner closes it.
package struct ChildProcess: Sendable {
    package struct CannotRun: Error {
        let program: String
        let error: Int32
    }

    package let id: Int32

    /// - Parameters:
    ///   - program: A path, or the name of a program on the `PATH`.
    ///   - streams: The standard input, output and error; `nil` for `/dev/null`.
    ///   - terminal: The path of a terminal to use for all three, and to control a new session.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, folder: URL? = nil,
        input: FileHandle? = nil, output: FileHandle? = nil, errors: FileHandle? = nil, terminal: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // No signal is blocked, like on Dispatch's threads. With a terminal, the process leads a session, whose
        // controlling terminal is the first one opened.
        let newSession: Int16 = 0x80
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | (terminal == nil ? 0 : newSession))
        for (number, handle) in [input, output, errors].enumerated() {
            if let terminal {
                posix_spawn_file_actions_addopen(&actions, Int32(number), terminal, O_RDWR, 0)
            } else if let handle {
                posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder.path) }
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        var arguments = ([program] + arguments).map { strdup($0) } + [nil]
        var words = variables.map { strdup($0) } + [nil]
        defer { for pointer in arguments + words { free(pointer) } }
        var id = pid_t()
        let error = posix_spawnp(&id, program, &actions, &attributes, &arguments, &words)
        guard error == 0 else { throw CannotRun(program: program, error: error) }
        self.id = id
    }

    /// Waits for the end on a separate thread, because a test that blocks one of Swift's few threads delays the others.
    /// Call it once.
    ///
    /// - Returns: The exit status; after a signal, 128 plus its number.
    @discardableResult
    package func status() async -> Int32 {
        await onThread {
            var status = Int32()
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        }
    }

    /// The result of a program that has ended.
    package struct Outcome: Sendable {
        /// The exit status, as returned by ``ChildProcess/status()``.
        package let status: Int32
        package let output: Data
        package let errors: String

        package var text: String { String(decoding: output, as: UTF8.self) }
    }

    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, folder: URL? = nil
    ) async throws -> Outcome {
        let (output, errors) = (Pipe(), Pipe())
        let process = try ChildProcess(
            program, arguments, environment: environment, folder: folder, output: output.fileHandleForWriting,
            errors: errors.fileHandleForWriting)
        async let written = output.everything()
        async let complaints = errors.everything()
        return await Outcome(
            status: process.status(), output: written, errors: String(decoding: complaints, as: UTF8.self))
    }
}

extension Pipe {
    /// Closes the local write end, and reads until all others have closed it.
    fileprivate func everything() async -> Data {
        try? fileHandleForWriting.close()
        return await onThread { [fileHandleForReading] in (try? fileHandleForReading.readToEnd()) ?? Data() }
    }
}

/// Runs blocking work on a separate thread.
package func onThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
