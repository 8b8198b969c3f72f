import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit
@testable import PydioCommands

/// A Pydio server, a folder for the login, a folder for files, and commands that use them.
final class PydioScene: Sendable {
    static let password = "open sesame"

    let server: FakePydioServer
    let home: URL

    /// - Parameter isLoggedIn: Whether to start as if `login` had run a while ago: the session is over, the password is
    ///   known.
    init(_ configuration: FakePydioServer.Configuration = .init(), isLoggedIn: Bool = true) async throws {
        server = try await FakePydioServer.start(configuration)
        home = FileManager.default.temporaryDirectory.appending(path: "pydio-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        if isLoggedIn { try logIn() }
    }

    deinit { try? FileManager.default.removeItem(at: home) }

    var file: URL { home.appending(path: "pusher-cli/pydio.json") }

    /// The stored login as text.
    var kept: String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

    /// The folder for downloads.
    var files: URL { home.appending(path: "files") }

    /// - Parameter address: The address of the server; `nil` for the scene's own.
    func logIn(to address: String? = nil, password: String? = PydioScene.password) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let login = PydioLogin(
            server: address.flatMap { URL(string: $0) } ?? server.url, user: "ada", deviceID: "device",
            password: password)
        try JSONEncoder().encode(["logins": [login]]).write(to: file)
        try setMode(0o600)
    }

    func setMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    func mode(of url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    var environment: [String: String] { ["XDG_CONFIG_HOME": home.path] }

    func run(_ arguments: [String], input: String = "", closesOutput: Bool = false) throws -> CommandRun {
        try CommandRun(arguments, environment: environment, input: input, closesOutput: closesOutput)
    }

    /// Runs `pusher-cli pydio …` until it ends.
    func pydio(_ arguments: String..., input: String = "") async throws -> (status: Int32?, run: CommandRun) {
        let run = try run(["pydio"] + arguments, input: input)
        return (await run.status(), run)
    }

    /// Runs `pusher-cli pydio login` with the password on standard input.
    func login(
        _ options: String..., password: String = PydioScene.password
    ) async throws -> (status: Int32?, run: CommandRun) {
        let run = try run(
            ["pydio", "login", server.address, "--user", "ada", "--password-stdin"] + options, input: password + "\n")
        return (await run.status(), run)
    }

    // MARK: Local files

    func local(_ name: String) -> URL { files.appending(path: name, directoryHint: .notDirectory) }

    @discardableResult
    func write(_ text: String, to name: String) throws -> URL {
        let file = local(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        return file
    }

    func text(of name: String) -> String? { try? String(contentsOf: local(name), encoding: .utf8) }

    /// The sorted paths of all files, including hidden ones.
    var localPaths: [String] {
        let all = FileManager.default.enumerator(atPath: files.path)?.compactMap { $0 as? String } ?? []
        return all.sorted()
    }

    /// Returns the text of a file on the server.
    func remoteText(_ path: String, in workspace: String = "0") -> String? {
        server.contents(of: path, in: workspace).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension PydioScene {
    /// Takes the turn to log in, for which commands queue; requires an earlier login.
    ///
    /// - Returns: A descriptor whose lock represents the turn.
    func takeLoginTurn() throws -> Int32 {
        let folder = file.deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let name = try #require(names.first { $0.hasPrefix("pydio-") && $0.hasSuffix(".lock") })
        let lock = open(folder.appending(path: name).path, O_RDWR)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock
    }
}
