import Basics
import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Every operation with every fault of its session or its answer.
@Suite(.overSockets)
struct OperationTableTests {
    enum Condition: String, Sendable, CaseIterable {
        case nothing = "nothing wrong"
        case unauthorized = "first call unauthorized"
        case sessionLost = "session lost"
        case tokenExpired = "token expired"
        case captcha
        case errorDocument = "error document"
        case htmlPage = "HTML page"
        case garbage
        case cut = "cut connection"
    }

    /// An operation on a server: in a session on an older one, with a key pair on a newer one.
    struct Row: Sendable, CustomStringConvertible {
        let mode: FakePydioMode
        let operation: OperationCase

        var description: String { "\(mode.rawValue): \(operation)" }
        var isSigned: Bool { mode == .v8 }

        /// These servers never find the data of a share by its file.
        static let all = FakePydioMode.allCases.flatMap { mode in
            OperationCase.all.filter { mode == .v5_2 || $0.name != "loadSharedElementData" }.map {
                Row(mode: mode, operation: $0)
            }
        }

        /// The number of the operation's own requests, in a session or signed.
        func made(_ server: FakePydioServer) -> Int {
            server.count(operation.action) + (signedAction == operation.action ? 0 : server.count(signedAction))
        }

        var signedAction: String {
            isSigned && operation.action == "get_xml_registry" ? "state" : operation.action
        }

        /// Logins since the requests were last forgotten.
        func logins(_ server: FakePydioServer) -> Int {
            server.count(isSigned ? "keystore_generate_auth_token" : "login")
        }
    }

    @Test(arguments: Row.all, Condition.allCases)
    func everyOperationDealsWith(row: Row, condition: Condition) async throws {
        _ = try await Self.check(row, condition)
    }

    /// With `PYDIO_TABLE` set to a file's path, writes the results as a table.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["PYDIO_TABLE"] != nil, "PYDIO_TABLE names the file"))
    func theTableIsWritten() async throws {
        let columns = Condition.allCases
        var lines = ["| operation | " + columns.map(\.rawValue).joined(separator: " | ") + " |"]
        lines.append("|" + String(repeating: "---|", count: columns.count + 1))
        for row in Row.all {
            var cells: [String] = []
            for condition in columns {
                do {
                    cells.append(try await Self.check(row, condition))
                } catch {
                    cells.append("**failed**")
                }
            }
            lines.append("| " + (["\(row)"] + cells).joined(separator: " | ") + " |")
        }
        let path = try #require(ProcessInfo.processInfo.environment["PYDIO_TABLE"])
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
    }

    /// - Returns: The result as text.
    private static func check(_ row: Row, _ condition: Condition) async throws -> String {
        try await PydioScene.with(FakePydioServer.Configuration(mode: row.mode)) { scene in
            let (server, operation) = (scene.server, row.operation)
            if condition != .unauthorized && condition != .captcha {
                try await scene.client.authorize()
                server.forgetRequests()
            }
            func made() -> Int { row.made(server) }
            func logins() -> Int { row.logins(server) }
            switch condition {
            case .nothing:
                try await operation.run(scene)
                try #require(made() == operation.count && logins() == 0)
                return "done"
            case .unauthorized:
                try await operation.run(scene)
                try #require(logins() == 1)
                // Newer servers accept passwords unhashed.
                try #require(server.count("get_seed") == (operation.asksForSeed && !row.isSigned ? 2 : 1))
                try #require(made() == operation.count + (operation.logsInFirst || operation.asksFirst ? 0 : 1))
                return operation.logsInFirst ? "1 login, done" : "1 login, repeated once, done"
            case .sessionLost:
                server.expireSessions()
                server.revokeKeyPairs()
                try await operation.run(scene)
                try #require(logins() == 1 && made() == operation.count + (operation.asksFirst ? 0 : 1))
                return "1 login, repeated once, done"
            case .tokenExpired:
                // A key pair has no token; its counterpart is a signature that the server rejects.
                if row.isSigned { server.inject(.status(401), into: nil) } else { server.expireTokens() }
                try await operation.run(scene)
                try #require(server.count("login") == 0)
                try #require(server.count(row.isSigned ? "keystore_generate_auth_token" : "get_secure_token") == 1)
                try #require(made() == operation.count + (operation.asksFirst ? 0 : 1))
                return row.isSigned ? "1 new pair, repeated once, done" : "1 new token, repeated once, done"
            case .captcha: return try await captcha(row, scene)
            case .errorDocument:
                let times = operation.asksTwice ? 2 : 1
                server.inject(.errorDocument("Broken & stopped"), into: row.signedAction, times: times)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.code == .errorResponse && error?.serverMessage == "Broken & stopped")
                try #require(made() == times && logins() == 0)
                return "error 6 with the text"
            case .htmlPage:
                server.inject(.htmlPage(), into: row.signedAction)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.errorCode == 7 || error?.errorCode == 8)
                try #require(error?.excerpt == "Gateway 200" && made() == 1 && logins() == 0)
                return "error \(error?.errorCode ?? 0)"
            case .garbage:
                server.inject(.garbage, into: row.signedAction)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.code == .unableToParseAnswer && made() == 1 && logins() == 0)
                return "error \(error?.errorCode ?? 0)"
            case .cut: return try await cut(row, scene)
            }
        }
    }

    /// An error of its own; after the image and a login everything continues.
    private static func captcha(_ row: Row, _ scene: PydioScene) async throws -> String {
        let operation = row.operation
        scene.server.forceCaptcha()
        let error = await failure { try await operation.run(scene) }
        try #require(error?.code == .getSeedWithCaptcha && scene.server.count("login") == 0)
        try #require(scene.server.count("get_seed") == 1)
        let image = try await scene.client.getCaptcha()
        try #require(image.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        try await scene.client.login(captcha: try #require(scene.server.captchaCode))
        try #require(scene.server.count("login") == 1 && scene.server.count("get_seed") == 1)
        scene.server.forgetRequests()
        try await operation.run(scene)
        try #require(row.made(scene.server) == operation.count && row.logins(scene.server) == 0)
        return "error 4; image, login, done"
    }

    private static func cut(_ row: Row, _ scene: PydioScene) async throws -> String {
        let operation = row.operation
        // An empty answer cannot be cut, so the connection is dropped before it. The client retries once on a dead
        // connection.
        if operation.isSilent {
            scene.server.inject(.drop, into: row.signedAction, times: nil)
        } else {
            scene.server.inject(.cut(after: 2), into: row.signedAction)
        }
        let error = await failure { try await operation.run(scene) }
        try #require(row.logins(scene.server) == 0)
        if operation.survivesCut {
            try #require(error == nil && row.made(scene.server) == 2)
            return "gone on, done"
        }
        try #require(error?.code == .network)
        return "error of the network"
    }
}
