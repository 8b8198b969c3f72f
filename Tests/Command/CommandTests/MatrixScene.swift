import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

/// A scripted homeserver, a folder for the credentials, and commands that use both.
final class MatrixScene: Sendable {
    static let token = "syt_secret_of_alice"
    static let user = "@alice:hs"

    let server: FakeHomeserver
    let home: URL
    private let syncs = Lock<[String]>([])

    /// - Parameter isLoggedIn: Whether to start as if `login` had run.
    init(isLoggedIn: Bool = true) async throws {
        server = try await FakeHomeserver.start()
        home = FileManager.default.temporaryDirectory.appending(path: "matrix-\(UUID().uuidString)")
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v3/rooms/*/state/m.room.encryption/**", .error(404, "M_NOT_FOUND"))
        server.on("GET", "v3/rooms/*/state/m.room.encryption", .error(404, "M_NOT_FOUND"))
        server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$sent"}"#))
        if isLoggedIn { try logIn() }
    }

    deinit { try? FileManager.default.removeItem(at: home) }

    var file: URL { home.appending(path: "pusher-cli/matrix.json") }

    func logIn(
        to address: String? = nil, user: String = MatrixScene.user, device: String = "DEVICE",
        token: String = MatrixScene.token
    ) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        var credentials = MXCredentials(
            homeServer: address ?? server.address, userId: user, accessToken: token)
        credentials.deviceId = device
        try JSONEncoder().encode(credentials).write(to: file)
        try setMode(0o600)
    }

    func setMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    func mode(of url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    func run(
        _ arguments: [String], input: String = "", closesOutput: Bool = false, outputFile: String? = nil
    ) throws -> CommandRun {
        try CommandRun(
            arguments,
            environment: ["XDG_CONFIG_HOME": home.path, "XDG_DATA_HOME": data.path, "HOME": home.path], input: input,
            closesOutput: closesOutput, outputFile: outputFile)
    }

    /// The folder in which commands keep data.
    var data: URL { home.appending(path: "data") }

    var database: URL { data.appending(path: "pusher-cli/matrix/%40alice%3Ahs/store.sqlite") }

    /// The token at which each sync began; `nil` for a first one.
    var syncTokens: [String?] { server.requests("GET", "v3/sync").map { $0.parameter("since") } }

    /// Runs `pusher-cli matrix …` until it ends.
    func matrix(_ arguments: String..., input: String = "") async throws -> (status: Int32?, run: CommandRun) {
        let run = try run(["matrix"] + arguments, input: input)
        return (await run.status(), run)
    }

    // MARK: Sync

    /// Messages notify, except those of programs.
    static let pushRules = #"""
        ,"account_data":{"events":[{"type":"m.push_rules","content":{"global":{
        "override":[{"rule_id":".m.rule.suppress_notices","default":true,"enabled":true,"actions":[],
        "conditions":[{"kind":"event_match","key":"content.msgtype","pattern":"m.notice"}]}],
        "underride":[{"rule_id":".m.rule.message","default":true,"enabled":true,"actions":["notify"],
        "conditions":[{"kind":"event_match","key":"type","pattern":"m.room.message"}]}]}}}]}
        """#

    /// Serves a first sync with this and push rules. Later polls return the events of ``bring(_:)``, or nothing after a
    /// moment.
    func syncsBegin(_ first: String) {
        server.on("GET", "v3/sync") { [syncs] request in
            guard let since = request.parameter("since") else {
                return .json(#"{"next_batch":"1"\#(first)\#(Self.pushRules)}"#)
            }
            let next = (Int(since) ?? 0) + 1
            guard let more = syncs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                return .json(#"{"next_batch":"\#(next)"}"#).after(.milliseconds(30))
            }
            return .json(#"{"next_batch":"\#(next)"\#(more)}"#)
        }
    }

    func bring(_ sync: String) { syncs.withLock { $0.append(sync) } }

    static func room(
        _ id: String = "!r:hs", name: String? = nil, timeline: [String] = [], isLimited: Bool = false, more: String = ""
    ) -> String {
        let state = name.map { name in
            #"""
            {"type":"m.room.name","state_key":"","event_id":"$name-\#(id)","sender":"@bob:hs","content":{"name":"\#(name)"}},
            \#(member("@alice:hs", "Alice")),\#(member("@bob:hs", "Bob"))
            """#
        }
        return #"""
            ,"rooms":{"join":{"\#(id)":{"state":{"events":[\#(state ?? "")]},"timeline":{"limited":\#(isLimited),
            "prev_batch":"p","events":[\#(timeline.joined(separator: ","))]}\#(more)}}}
            """#
    }

    static func member(_ user: String, _ name: String) -> String {
        #"""
        {"type":"m.room.member","event_id":"$\#(user)","sender":"\#(user)","state_key":"\#(user)",
        "content":{"membership":"join","displayname":"\#(name)"}}
        """#
    }

    static func message(_ id: String, _ body: String, sender: String = "@bob:hs") -> String {
        #"""
        {"type":"m.room.message","event_id":"\#(id)","sender":"\#(sender)","origin_server_ts":1700000000000,
        "content":{"msgtype":"m.text","body":"\#(body)"}}
        """#
    }
}

extension MatrixScene {
    /// If a homeserver refuses everything, the status is 77, and its text cannot control the terminal.
    static func expectRefusal(of arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let scene = try await MatrixScene()
        let words = HostileText.json(HostileText.short)
        scene.server.setGate { _ in .json(#"{"errcode":"M_FORBIDDEN","error":\#(words)}"#, status: 403) }
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 77, sourceLocation: sourceLocation)
        #expect(run.output == [], sourceLocation: sourceLocation)
        #expect(
            run.errors.count == 1 && run.errors.first?.hasSuffix("(M_FORBIDDEN)") == true,
            sourceLocation: sourceLocation)
        for line in run.errors { #expect(HostileText.flaws(in: line) == [], sourceLocation: sourceLocation) }
    }

    /// Without a login, commands explain how to log in.
    static func expectLoginToBeAskedFor(
        _ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let run = try await MatrixScene(isLoggedIn: false).run(["matrix"] + arguments)
        #expect(await run.status() == 77, sourceLocation: sourceLocation)
        #expect(run.errors == ["error: not logged in: run pusher-cli matrix login"], sourceLocation: sourceLocation)
        #expect(run.output == [], sourceLocation: sourceLocation)
    }

    /// Wrong use has status 64, and nothing is sent.
    static func expectWrongUse(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let scene = try await MatrixScene()
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 64, sourceLocation: sourceLocation)
        #expect(run.output == [], sourceLocation: sourceLocation)
        #expect(scene.server.requests.isEmpty, sourceLocation: sourceLocation)
    }
}

extension CommandRun {
    /// The lines that are JSON objects.
    var objects: [[String: Any]] {
        output.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
    }

    var words: String { (output + errors).joined(separator: "\n") }
}
