import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit
@testable import PydioCommands

/// A Pydio server, a folder for the login, another for files, and commands that use them.
final class PydioScene: Sendable {
    static let password = "open sesame"

    let server: FakePydioServer
    let home: URL

    /// - Parameter isLoggedIn: As if `login` had been run a while ago: the session is over, the password is known.
    init(_ configuration: FakePydioServer.Configuration = .init(), isLoggedIn: Bool = true) async throws {
        server = try await FakePydioServer.start(configuration)
        home = FileManager.default.temporaryDirectory.appending(path: "pydio-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        if isLoggedIn { try logIn() }
    }

    deinit { try? FileManager.default.removeItem(at: home) }

    var file: URL { home.appending(path: "pusher-cli/pydio.json") }

    /// What is kept, as text.
    var kept: String { (try? String(contentsOf: file, encoding: .utf8)) ?? "" }

    /// Where commands put what they get.
    var files: URL { home.appending(path: "files") }

    /// - Parameter address: Of the server; nil is the scene's.
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

    /// `pusher-cli pydio …`, to its end.
    func pydio(_ arguments: String..., input: String = "") async throws -> (status: Int32?, run: CommandRun) {
        let run = try run(["pydio"] + arguments, input: input)
        return (await run.status(), run)
    }

    /// `pusher-cli pydio login`, with the password on standard input.
    func login(
        _ options: String..., password: String = PydioScene.password
    ) async throws -> (status: Int32?, run: CommandRun) {
        let run = try run(
            ["pydio", "login", server.address, "--user", "ada", "--password-stdin"] + options, input: password + "\n")
        return (await run.status(), run)
    }

    // MARK: Files on this side

    func local(_ name: String) -> URL { files.appending(path: name, directoryHint: .notDirectory) }

    @discardableResult
    func write(_ text: String, to name: String) throws -> URL {
        let file = local(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        return file
    }

    func text(of name: String) -> String? { try? String(contentsOf: local(name), encoding: .utf8) }

    /// Of all files, hidden ones too, sorted.
    var localPaths: [String] {
        let all = FileManager.default.enumerator(atPath: files.path)?.compactMap { $0 as? String } ?? []
        return all.sorted()
    }

    /// The text of a file at the server.
    func remoteText(_ path: String, in workspace: String = "0") -> String? {
        server.contents(of: path, in: workspace).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension PydioScene {
    /// Takes the turn to log in that commands have one after the other: somebody has logged in before.
    ///
    /// - Returns: A descriptor whose lock is the turn.
    func takeLoginTurn() throws -> Int32 {
        let folder = file.deletingLastPathComponent()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let name = try #require(names.first { $0.hasPrefix("pydio-") && $0.hasSuffix(".lock") })
        let lock = open(folder.appending(path: name).path, O_RDWR)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock
    }
}
