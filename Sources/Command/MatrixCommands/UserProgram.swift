import CommandKit
import Foundation
import TerminalUI

/// The user's programs that a screen starts: browser, file viewer and editor.
enum UserProgram {
    /// Opens an address with `$BROWSER`, or with the desktop's default.
    static func open(_ url: URL) async throws {
        let browser = Environment["BROWSER"].flatMap { $0.split(separator: ":").first.map(String.init) }
        try await run(browser, on: url.absoluteString, variable: "BROWSER")
    }

    /// Opens a file with `$MATRIX_OPENER`, or with the desktop's default.
    static func openFile(_ file: URL) async throws {
        try await run(Environment["MATRIX_OPENER"], on: file.path, variable: "MATRIX_OPENER")
    }

    /// Runs a program until it ends, or while the screen exists. Its argument is passed as one word, without a shell.
    private static func run(_ program: String?, on argument: String, variable: String) async throws {
        let program = program ?? "xdg-open"
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--", program, argument]
        // The program must not write on the screen or read keys.
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in continuation.finish() }
        do {
            try process.run()
        } catch {
            throw CommandFailure(.unavailable, "\(program) could not be started: set $\(variable)")
        }
        for await _ in ends {}
        guard !Task.isCancelled else { return }
        guard process.terminationReason == .exit, process.terminationStatus != 127 else {
            throw CommandFailure(.unavailable, "there is no \(program): set $\(variable)")
        }
        guard process.terminationStatus == 0 else {
            throw CommandFailure(.unavailable, "\(program) failed with status \(process.terminationStatus)")
        }
    }

    /// Edits a text in `$VISUAL` or `$EDITOR`, which uses the terminal meanwhile. The file is private and deleted
    /// afterwards.
    @concurrent
    static func edit(_ text: String, on terminal: Terminal) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pusher-cli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "message.md")
        try UserFile.replace(file, with: Data(text.utf8))
        let status = try terminal.pausing { try run(editor, file.path) }
        guard status == 0 else {
            throw CommandFailure(.unavailable, "\(editor) ended with status \(status): the text is as it was")
        }
        let data = try Data(contentsOf: file)
        guard data.count <= LineEditor.maximumSize else {
            throw CommandFailure(.badData, "the text is longer than a message can be: it is as it was")
        }
        let edited = String(decoding: data, as: UTF8.self)
        return String(edited.hasSuffix("\n") ? edited.dropLast() : edited[...])
    }

    private static var editor: String { Environment["VISUAL"] ?? Environment["EDITOR"] ?? "vi" }

    /// Runs in the program's own process group, which owns the terminal. The variable may contain arguments, so a shell
    /// reads it.
    private static func run(_ editor: String, _ path: String) throws -> Int32 {
        let words = ["sh", "-c", "exec \(editor) \"$1\"", "sh", path]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/bin/sh", nil, &attributes, &arguments, environ)
        guard failure == 0 else {
            throw CommandFailure(.unavailable, "\(editor) could not be started: \(String(cString: strerror(failure)))")
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}
