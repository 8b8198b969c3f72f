import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Basics
import Transport

/// Every operation with everything that may be wrong with its session or its answer.
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

    @Test(arguments: OperationCase.all, Condition.allCases)
    func everyOperationDealsWith(operation: OperationCase, condition: Condition) async throws {
        _ = try await Self.check(operation, condition)
    }

    /// With `PYDIO_TABLE` set to a file's path: the same as a table.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["PYDIO_TABLE"] != nil))
    func theTableIsWritten() async throws {
        let columns = Condition.allCases
        var lines = ["| operation | " + columns.map(\.rawValue).joined(separator: " | ") + " |"]
        lines.append("|" + String(repeating: "---|", count: columns.count + 1))
        for operation in OperationCase.all {
            var cells: [String] = []
            for condition in columns {
                do {
                    cells.append(try await Self.check(operation, condition))
                } catch {
                    cells.append("**failed**")
                }
            }
            lines.append("| " + ([operation.name] + cells).joined(separator: " | ") + " |")
        }
        let path = try #require(ProcessInfo.processInfo.environment["PYDIO_TABLE"])
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
    }

    /// - Returns: What came of it, in words.
    private static func check(_ operation: OperationCase, _ condition: Condition) async throws -> String {
        try await PydioScene.with { scene in
            let server = scene.server
            if condition != .unauthorized && condition != .captcha {
                try await scene.client.authorize()
                server.forgetRequests()
            }
            func made() -> Int { server.count(operation.action) }
            switch condition {
            case .nothing:
                try await operation.run(scene)
                try #require(made() == operation.count && server.count("login") == 0)
                return "done"
            case .unauthorized:
                try await operation.run(scene)
                try #require(server.count("login") == 1)
                try #require(server.count("get_seed") == (operation.asksForSeed ? 2 : 1))
                try #require(made() == operation.count + (operation.logsInFirst || operation.asksFirst ? 0 : 1))
                return operation.logsInFirst ? "1 login, done" : "1 login, repeated once, done"
            case .sessionLost:
                server.expireSessions()
                try await operation.run(scene)
                try #require(server.count("login") == 1 && made() == operation.count + (operation.asksFirst ? 0 : 1))
                return "1 login, repeated once, done"
            case .tokenExpired:
                server.expireTokens()
                try await operation.run(scene)
                try #require(server.count("login") == 0 && server.count("get_secure_token") == 1)
                try #require(made() == operation.count + (operation.asksFirst ? 0 : 1))
                return "1 new token, repeated once, done"
            case .captcha: return try await captcha(operation, scene)
            case .errorDocument:
                server.inject(.errorDocument("Broken & stopped"), into: operation.action)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.code == .errorResponse && error?.serverMessage == "Broken & stopped")
                try #require(made() == 1 && server.count("login") == 0)
                return "error 6 with the text"
            case .htmlPage:
                server.inject(.htmlPage(), into: operation.action)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.errorCode == 7 || error?.errorCode == 8)
                try #require(error?.excerpt == "Gateway 200" && made() == 1 && server.count("login") == 0)
                return "error \(error?.errorCode ?? 0)"
            case .garbage:
                server.inject(.garbage, into: operation.action)
                let error = await failure { try await operation.run(scene) }
                try #require(error?.code == .unableToParseAnswer && made() == 1 && server.count("login") == 0)
                return "error \(error?.errorCode ?? 0)"
            case .cut: return try await cut(operation, scene)
            }
        }
    }

    /// An error of its own; after the image and a login all goes on.
    private static func captcha(_ operation: OperationCase, _ scene: PydioScene) async throws -> String {
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
        try #require(scene.server.count(operation.action) == operation.count && scene.server.count("login") == 0)
        return "error 4; image, login, done"
    }

    private static func cut(_ operation: OperationCase, _ scene: PydioScene) async throws -> String {
        // An empty answer cannot be cut: the connection goes before it. The client tries a dead connection once more.
        if operation.isSilent {
            scene.server.inject(.drop, into: operation.action, times: nil)
        } else {
            scene.server.inject(.cut(after: 2), into: operation.action)
        }
        let error = await failure { try await operation.run(scene) }
        try #require(scene.server.count("login") == 0)
        if operation.survivesCut {
            try #require(error == nil && scene.server.count(operation.action) == 2)
            return "gone on, done"
        }
        try #require(error?.code == .network)
        return "error of the network"
    }
}
