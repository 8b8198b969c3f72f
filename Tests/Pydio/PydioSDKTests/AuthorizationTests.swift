import Basics
import Foundation
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct AuthorizationTests {
    private static func stat(_ scene: PydioScene, _ number: Int = 0) async throws -> Int64? {
        try await scene.client.stat(workspaceId: "0", path: number < 0 ? "/" : "/a.txt")?.size
    }

    /// Runs `count` calls at a time, and returns the result of each.
    private static func many(_ count: Int, _ scene: PydioScene) async -> [Result<Int64?, any Error>] {
        await withTaskGroup(of: Result<Int64?, any Error>.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do { return .success(try await stat(scene)) } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func succeeded(_ results: [Result<Int64?, any Error>]) -> Int {
        results.filter { (try? $0.get()) == 5 }.count
    }

    @Test func aTokenThatIsRefusedAndThenTheUserAreTwoSteps() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            let refusal = try #require(scene.client.options.tokenRefusals.first)
            scene.server.inject(.errorDocument(refusal), into: "stat")
            scene.server.inject(.requireAuth, into: "stat")
            #expect(try await Self.stat(scene) == 5)
            scene.server.inject(.requireAuth, into: "stat", times: nil)
            #expect(await failure { _ = try await Self.stat(scene) }?.code == .requireAuthorization)
        }
    }

    // MARK: Many calls

    @Test func fiftyCallsLogInOnceAndAreRepeatedOnce() async throws {
        try await PydioScene.with { scene in
            // All are refused before the first can log in.
            scene.server.inject(.hold, into: "stat", times: 50)
            async let results = Self.many(50, scene)
            #expect(await eventually { scene.server.heldCount == 50 })
            scene.server.release()
            #expect(await Self.succeeded(results) == 50)
            #expect(scene.server.count("login") == 1 && scene.server.count("get_seed") == 1)
            #expect(scene.server.count("ping") == 1 && scene.server.count("stat") == 100)
        }
    }

    @Test func fiftyCallsOfALostSessionLogInOnce() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            scene.server.expireSessions()
            scene.server.forgetRequests()
            scene.server.inject(.hold, into: "stat", times: 50)
            async let results = Self.many(50, scene)
            #expect(await eventually { scene.server.heldCount == 50 })
            scene.server.release()
            #expect(await Self.succeeded(results) == 50)
            #expect(scene.server.count("login") == 1 && scene.server.count("stat") == 100)
        }
    }

    @Test func twentyCallsWithAnOldTokenGetOneNew() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            scene.server.expireTokens()
            #expect(await Self.succeeded(Self.many(20, scene)) == 20)
            #expect(scene.server.count("get_secure_token") == 1 && scene.server.count("login") == 1)
            #expect(scene.server.count("stat") <= 40)
        }
    }

    @Test func clientsWithOneManagerShareALogin() async throws {
        try await PydioScene.with { scene in
            let other = PydioClient(server: scene.server.url, params: scene.params, options: scene.client.options)
            _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt")
            _ = try await other.stat(workspaceId: "0", path: "/a.txt")
            #expect(scene.server.count("login") == 1 && scene.server.count("stat") == 3)
        }
    }

    @Test func aFailedLoginFailsAllThatWereSentBefore() async throws {
        try await PydioScene.with(password: "wrong") { scene in
            // Some arrive during the login, others after it has failed.
            scene.server.inject(.hold, into: "stat", times: 5)
            scene.server.inject(.slow(.milliseconds(300)), into: "stat", times: 5)
            async let results = Self.many(10, scene)
            #expect(await eventually { scene.server.heldCount == 5 })
            scene.server.release()
            let errors = await results.compactMap { result -> PydioError? in
                if case .failure(let error) = result { error as? PydioError } else { nil }
            }
            #expect(errors.count == 10 && errors.allSatisfy { $0.code == .unableToLogin })
            #expect(scene.server.count("login") == 1 && scene.server.count("stat") == 10)
        }
    }

    @Test func aCancelledCallDoesNotEndTheLoginOfOthers() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.hold, into: "login")
            let first = Task { try await Self.stat(scene) }
            #expect(await eventually { scene.server.heldCount == 1 })
            let second = Task { try await Self.stat(scene) }
            #expect(await eventually { scene.server.count("stat") == 2 })
            first.cancel()
            await #expect { try await first.value } throws: { ($0 as? PydioError)?.code == .cancelled }
            scene.server.release()
            let size = try await second.value
            #expect(size == 5 && scene.server.count("login") == 1)
        }
    }

    // MARK: Refused logins

    private static func refusal(
        _ scene: PydioScene
    ) async -> (error: PydioError?, requests: [String?]) {
        let error = await failure { _ = try await stat(scene) }
        return (error, scene.server.requests.map(\.action))
    }

    @Test func aWrongPasswordIsAnErrorOfItsOwn() async throws {
        try await PydioScene.with(.withHashedPasswords, password: "wrong") { scene in
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .unableToLogin && error?.loginResult == .refused)
            #expect(requests == ["stat", "ping", "get_seed", "login"])
        }
    }

    @Test(
        arguments: [
            (FakePydioUser.Condition.lockedOut, PydioLoginResult.refused), (.withoutWorkspace, .noWorkspace),
        ] as [(FakePydioUser.Condition, PydioLoginResult)])
    func aLockedAccountIsAnErrorOfItsOwn(condition: FakePydioUser.Condition, result: PydioLoginResult) async throws {
        let user = FakePydioUser(id: "ada", password: PydioScene.password, condition: condition)
        var configuration = FakePydioServer.Configuration.withHashedPasswords
        configuration.users = [user]
        try await PydioScene.with(configuration) { scene in
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .unableToLogin && error?.loginResult == result)
            #expect(requests == ["stat", "ping", "get_seed", "login"])
        }
    }

    @Test func anUnknownResultIsAnErrorOfItsOwn() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            scene.server.configure { $0.loginValue = 42 }
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.loginResult == .other("42") && requests.count == 4)
        }
    }

    @Test func aServerThatIsNoneIsAnErrorOfItsOwn() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.htmlPage(404), times: nil)
            let error = await failure { try await scene.client.authorize() }
            #expect(error?.code == .unsupportedServer && error?.status == 404)
            scene.server.clearFaults()
            scene.server.inject(.htmlPage(), into: "get_seed", times: nil)
            let other = await failure { _ = try await Self.stat(scene) }
            #expect(other?.code == .unsupportedServer && other?.excerpt == "Gateway 200")
            #expect(scene.server.count("get_seed") == 1 && scene.server.count("login") == 0)
        }
    }

    @Test func aRedirectToALoginPageIsAnError() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.loginRedirect, into: "stat", times: nil)
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .http(status: 302) && requests == ["stat"])
        }
    }

    @Test func aServerThatAlwaysRefusesIsAskedTwice() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            scene.server.inject(.requireAuth, into: "stat", times: nil)
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .requireAuthorization)
            #expect(requests == ["stat", "ping", "get_seed", "login", "stat"])
        }
    }

    /// Without the right, the server's text is that of a wrong token: one new token, one retry.
    @Test func whatIsForbiddenIsAskedTwice() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            scene.server.forgetRequests()
            scene.server.inject(
                .errorDocument("You are not allowed to access this resource."), into: "stat", times: nil)
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .errorResponse)
            #expect(requests == ["stat", "get_secure_token", "stat"])
        }
    }

    @Test func withoutAUserNothingIsSent() async throws {
        try await PydioScene.with { scene in
            scene.params.setUser(nil, forServer: scene.server.url)
            let (error, requests) = await Self.refusal(scene)
            #expect(error?.code == .unableToLogin && requests.isEmpty)
        }
    }

    // MARK: Captchas

    @Test func wrongPasswordsLeadToACaptcha() async throws {
        try await PydioScene.with(password: "wrong") { scene in
            var codes: [Int?] = []
            for _ in 0..<4 { codes.append(await failure { _ = try await Self.stat(scene) }?.errorCode) }
            #expect(codes == [3, 3, 5, 4])
            scene.params.setUser(
                User(userid: "ada", password: PydioScene.password), forServer: scene.server.url)
            _ = try await scene.client.getCaptcha()
            #expect(await failure { try await scene.client.login(captcha: "no") }?.code == .loginWithCaptcha)
            _ = try await scene.client.getCaptcha()
            try await scene.client.login(captcha: #require(scene.server.captchaCode))
            #expect(try await Self.stat(scene) == 5)
            #expect(scene.server.count("login") == 5)
        }
    }

    @Test func aCaptchasLoginWaitsForTheOneUnderWay() async throws {
        try await PydioScene.with { scene in
            scene.server.forceCaptcha()
            #expect(await failure { _ = try await Self.stat(scene) }?.code == .getSeedWithCaptcha)
            _ = try await scene.client.getCaptcha()
            let code = try #require(scene.server.captchaCode)
            scene.server.inject(.hold, into: "get_seed")
            async let other = failure { _ = try await Self.stat(scene) }
            #expect(await eventually { scene.server.heldCount == 1 })
            async let login: Void = scene.client.login(captcha: code)
            scene.server.release()
            try await login
            #expect(await other?.code == .getSeedWithCaptcha)
            #expect(try await Self.stat(scene) == 5)
        }
    }

    @Test func aSessionThatIsForgottenMeanwhileEndsTheLogin() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.hold, into: "login")
            async let error = failure { try await scene.client.authorize() }
            #expect(await eventually { scene.server.heldCount == 1 })
            scene.params.clearAll(scene.server.url)
            scene.server.release()
            // Its call is gone: it ends without a session.
            _ = await error
            #expect(scene.params.secureToken(forServer: scene.server.url) == nil && !scene.client.progress)
        }
    }

    // MARK: Sessions

    @Test func cookiesWithoutATokenAreEnough() async throws {
        try await PydioScene.with { scene in
            _ = try await Self.stat(scene)
            let url = scene.server.url
            let restored = ServersParamsManager()
            restored.setUser(User(userid: "ada", password: PydioScene.password), forServer: url)
            restored.setCookies(scene.params.allServerCookies(url), forServer: url)
            scene.server.forgetRequests()
            let client = PydioClient(server: url, params: restored, options: scene.client.options)
            #expect(try await client.stat(workspaceId: "0", path: "/a.txt")?.size == 5)
            #expect(scene.server.requests.map(\.action) == ["stat", "get_secure_token", "stat"])
            #expect(restored.isCookieSet(url) && restored.secureToken(forServer: url) != nil)
        }
    }

    @Test func theIdChangesAtLogin() async throws {
        try await PydioScene.with(.withHashedPasswords) { scene in
            _ = try await Self.stat(scene)
            let sessions = scene.server.requests.map(\.session)
            #expect(sessions.prefix(2) == [nil, nil] && Set(sessions.dropFirst(2).dropLast()).count == 1)
            #expect(sessions.last != sessions.dropLast().last)
            #expect(scene.server.sessions.contains { $0.id == sessions.last && $0.user == "ada" })
        }
    }

    @Test func serversOnOneHostHaveTheirOwnSessions() async throws {
        try await PydioScene.with { scene in
            try await PydioScene.with { other in
                let client = PydioClient(
                    server: other.server.url, params: scene.params, options: scene.client.options)
                scene.params.setUser(User(userid: "bob", password: "pässwörd"), forServer: other.server.url)
                _ = try await Self.stat(scene)
                _ = try await client.stat(workspaceId: "0", path: "/a.txt")
                _ = try await Self.stat(scene)
                #expect(scene.server.count("login") == 1 && other.server.count("login") == 1)
                #expect(Set(scene.params.serversList.map(\.port)) == [scene.server.port, other.server.port])
                let ids = [scene.server.url, other.server.url].map { scene.params.allServerCookies($0).map(\.value) }
                #expect(ids[0] != ids[1] && ids.allSatisfy { $0.count == 1 })
            }
        }
    }

    @Test func loggingOutForgetsTheSession() async throws {
        try await PydioScene.with { scene in
            _ = try await Self.stat(scene)
            try await scene.client.logout()
            #expect(scene.server.count("logout") == 1 && !scene.server.sessions.contains { $0.user != nil })
            #expect(scene.params.secureToken(forServer: scene.server.url) == nil)
            #expect(!scene.params.isCookieSet(scene.server.url))
            #expect(try await Self.stat(scene) == 5 && scene.server.count("login") == 2)
            // No login to end, so nothing is sent.
            try await scene.client.logout()
            try await scene.client.logout()
            #expect(scene.server.count("logout") == 2)
        }
    }

    @Test func aNewServerTakesThePasswordInTheClearOnlyAfterAWarning() async throws {
        let lines = Lock<[String]>([])
        let configuration = FakePydioServer.Configuration(mode: .v8)
        func change(_ options: inout PydioClientOptions) {
            options.authentication = .session
            options.logger = Logger(label: "test") { _ in RecordingLog(lines: lines) }
        }
        try await PydioScene.with(configuration, options: change) { scene in
            #expect(try await Self.stat(scene) == 5)
            try await scene.client.authorize()
            #expect(scene.server.count("login") > 0)
            #expect(scene.server.requests("login").allSatisfy { $0.parameter("password") == PydioScene.password })
            #expect(lines.withLock { $0.count } == 1)
            #expect(lines.withLock { !$0.joined().contains(PydioScene.password) })
        }
    }
}

private struct RecordingLog: LogHandler {
    let lines: Lock<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
