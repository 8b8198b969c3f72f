import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport

@testable import MatrixKit

/// A homeserver that answers syncs from a script, and a session on it.
final class KitScene: Sendable {
    let server: FakeHomeserver
    let session: MXSession
    private struct Script {
        var answers: [FakeAnswer] = []
        /// Whether a poll is pending without an answer.
        var isPolled = false
    }

    private let script = Lock(Script())

    init(user: String = "@a:s") async throws {
        server = try await FakeHomeserver.start()
        session = MXSession(matrixRestClient: Self.client(server, user: user))
        Self.serve(server, script)
    }

    static func credentials(_ server: FakeHomeserver, user: String = "@a:s") -> MXCredentials {
        var credentials = MXCredentials(homeServer: server.address, userId: user, accessToken: "token-" + user)
        credentials.deviceId = "DEVICE"
        return credentials
    }

    static var options: MXRestClientOptions {
        var options = MXRestClientOptions()
        options.proxy = ""
        options.connectionPause = .milliseconds(5)
        return options
    }

    static func client(_ server: FakeHomeserver, user: String = "@a:s") -> MXRestClient {
        let client = MXRestClient(credentials: credentials(server, user: user), options: options)
        client.completionQueue = .global()
        return client
    }

    private static func serve(_ server: FakeHomeserver, _ script: Lock<Script>) {
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v3/sync") { _ in
            script.withLock { script in
                script.isPolled = script.answers.isEmpty
                return script.isPolled ? .silence : script.answers.removeFirst()
            }
        }
    }

    /// Starts with these rooms, as JSON members of `join`.
    func start(_ rooms: String..., accountData: String = "") async throws {
        let answer = FakeAnswer.json(
            #"{"next_batch":"s1","account_data":{"events":[\#(accountData)]},"rooms":{"join":{\#(rooms.joined(separator: ","))}}}"#
        )
        script.withLock { $0.answers.append(answer) }
        try await session.start()
    }

    /// Adds answers for the next syncs; the first replaces the pending poll.
    func next(_ answers: String...) async { await next(answers) }

    func next(_ answers: [String]) async {
        _ = await eventually { self.script.withLock { $0.isPolled } }
        script.withLock { script in
            script.answers += answers.map { .json($0) }
            script.isPolled = false  // it now ends
        }
        session.reconnect()
    }

    static func room(_ id: String, state: [String] = [], timeline: [String] = []) -> String {
        #""\#(id)":{"state":{"events":[\#(state.joined(separator: ","))]},"timeline":{"events":[\#(timeline.joined(separator: ","))]}}"#
    }

    static func member(_ user: String, name: String, in room: String = "") -> String {
        #"{"type":"m.room.member","event_id":"$m\#(user)\#(room)","sender":"\#(user)","state_key":"\#(user)","origin_server_ts":1,"content":{"membership":"join","displayname":"\#(name)"}}"#
    }

    static let encryption =
        #"{"type":"m.room.encryption","event_id":"$e","sender":"@a:s","state_key":"","origin_server_ts":1,"content":{"algorithm":"m.megolm.v1.aes-sha2"}}"#

    static func message(_ id: String, _ body: String, ts: Int, room: String? = nil) -> String {
        let room = room.map { #""room_id":"\#($0)","# } ?? ""
        return
            #"{"type":"m.room.message","event_id":"\#(id)",\#(room)"sender":"@b:s","origin_server_ts":\#(ts),"content":{"msgtype":"m.text","body":"\#(body)"}}"#
    }
}

/// A folder that is deleted after the test.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "matrixkit-test-" + UUID().uuidString)

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }

    static func mode(_ url: URL) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: url.path))?[.posixPermissions] as? Int
    }
}

/// Records the calls of a delegate.
@MainActor
final class DelegateRecorder: MXKDataSourceDelegate {
    private(set) var changes: [MXKCellChanges?] = []
    private(set) var states: [MXKDataSourceState] = []

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }
    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }
    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        self.changes.append(changes as? MXKCellChanges)
    }
    func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { states.append(state) }
}
