import Basics
import Foundation
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// Data on disk after a login ends: everything after a soft logout, nothing after a hard one.
@Suite(.overSockets)
struct EndOfLoginTests {
    /// The request that first meets the end of the login.
    enum Meeting: CaseIterable {
        case sync, anotherCall, callOfAPausedSession, refusedRefresh
    }

    private func stored(in folder: URL) -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return paths.filter { $0.contains("sqlite") }
    }

    /// A session with a message in a store on disk, after the end of its login.
    private func scene(_ meeting: Meeting, isSoft: Bool, in folder: URL) async throws -> MXSession {
        let server = try await FakeHomeserver.start()
        let isOver = Lock(false)
        server.on("GET", "v3/sync") { request in
            guard request.parameter("since") == nil else { return .silence }
            return Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))
        }
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        server.on(
            "POST", "v3/refresh", .error(401, "M_UNKNOWN_TOKEN", isSoft ? #""soft_logout":true"# : #""x":1"#))
        server.setGate { request in
            let isRefresh = request.rawPath.hasSuffix("/refresh")
            return isOver.withLock { $0 } && !isRefresh ? .unknownToken(softLogout: isSoft) : nil
        }
        let client = MXRestClient.make(server, refreshToken: meeting == .refusedRefresh ? "r1" : nil)
        let session = MXSession(matrixRestClient: client)
        try session.setStore(MXFileStore(folder: folder))
        try await session.start()
        #expect(session.rooms.count == 1 && !stored(in: folder).isEmpty)
        #expect(await server.hasBeenAsked("GET", "v3/sync", times: 2))
        if meeting == .callOfAPausedSession {
            session.pause()
            #expect(await eventually { session.state == .paused })
        }
        isOver.withLock { $0 = true }
        switch meeting {
        case .sync: session.reconnect()
        case .anotherCall, .callOfAPausedSession, .refusedRefresh: _ = try? await client.joinedRooms()
        }
        return session
    }

    @Test(arguments: Meeting.allCases) func aHardLogoutErasesTheStore(meeting: Meeting) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "end-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = try await scene(meeting, isSoft: false, in: folder)
        #expect(await eventually { stored(in: folder).isEmpty })
        #expect(session.rooms.isEmpty)
        if meeting != .callOfAPausedSession { #expect(await eventually { session.state == .syncError }) }
        await #expect {
            try await session.start()
        } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringUnknownToken }
        session.close()
        #expect(stored(in: folder).isEmpty)
    }

    @Test(arguments: Meeting.allCases) func aSoftLogoutKeepsTheStore(meeting: Meeting) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "end-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let session = try await scene(meeting, isSoft: true, in: folder)
        if meeting != .callOfAPausedSession { #expect(await eventually { session.state == .syncError }) }
        #expect(session.rooms.first?.lastMessage?.eventId == "$1")
        session.close()
        #expect(!stored(in: folder).isEmpty)
    }

    /// The homeserver ends the pending sync before it answers the logout, or at the same time.
    @Test @MainActor func whoLogsOutHearsOfNoFailure() async throws {
        let server = try await FakeHomeserver.start()
        let isOver = Lock(false)
        server.on("GET", "v3/sync") { request in
            if isOver.withLock({ $0 }) { return .unknownToken(softLogout: false) }
            return request.parameter("since") == nil
                ? Sync.answer("s1", Sync.room(state: Sync.members)) : Sync.answer("s2").after(.milliseconds(20))
        }
        server.on("POST", "v3/logout") { _ in
            isOver.withLock { $0 = true }
            return .json("{}").after(.milliseconds(200))
        }
        let errors = ErrorsOfASession()
        let session = MXSession(matrixRestClient: .make(server))
        session.delegate = errors
        try await session.start()
        #expect(await server.hasBeenAsked("GET", "v3/sync", times: 3))
        try await session.logout()
        await session.finishTelling()
        #expect(errors.all.isEmpty)
        #expect(session.state == .paused)
        session.close()
    }

    @Test func aLogoutThatFailsLetsTheSessionGoOn() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/sync") { request in
            guard request.parameter("since") == nil else { return .silence }
            return Sync.answer("s1", Sync.room(state: Sync.members))
        }
        server.on("POST", "v3/logout", .error(400, "M_UNKNOWN"))
        let session = MXSession(matrixRestClient: .make(server))
        try await session.start()
        #expect(await server.hasBeenAsked("GET", "v3/sync", times: 2))
        await #expect(throws: MXError.self) { try await session.logout() }
        #expect(await server.hasBeenAsked("GET", "v3/sync", times: 3))
        session.close()
    }

    // MARK: The service

    @MainActor private static func needsLogin(_ service: MXMatrixService) -> Bool {
        if case .error = service.connectionState { true } else { false }
    }

    @Test(arguments: [true, false]) @MainActor
    func whoIsSignedOutElsewhereKeepsNothing(hasRefreshToken: Bool) async throws {
        let scene = try await ServiceScene()
        scene.server.on("POST", "v3/login", ServiceScene.login("old", refreshToken: hasRefreshToken ? "r1" : nil))
        scene.server.on("POST", "v3/refresh", .error(401, "M_UNKNOWN_TOKEN"))
        let service = try await scene.running()
        await scene.next(service, .unknownToken(softLogout: false))
        #expect(await eventually { await Self.needsLogin(service) })
        #expect(await eventually { stored(in: scene.folder).isEmpty })
        #expect(scene.credentials == nil)
        #expect(try await service.getJoinedRooms() == [])
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"] == nil)
    }

    @Test @MainActor func aRefusedRefreshAfterASoftLogoutKeepsTheDevice() async throws {
        let scene = try await ServiceScene()
        scene.server.on("POST", "v3/login", ServiceScene.login("old", refreshToken: "r1"))
        scene.server.on("POST", "v3/refresh", .error(403, "M_FORBIDDEN"))
        let service = try await scene.running()
        await scene.next(service, .unknownToken(softLogout: true))
        #expect(await eventually { await Self.needsLogin(service) })
        #expect(try await service.getJoinedRooms().count == 1)
        try await service.loginWithPassword(username: "a", password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"]?.string == "DEVICE")
    }

    // MARK: Two logins of one account

    @Test(arguments: ["a", "b"]) @MainActor
    func aSecondLoginIntoAFolderThatIsInUseIsRefused_beforeAnythingIsSent(user: String) async throws {
        let scene = try await ServiceScene()
        let first = try await scene.running()
        let second = try await scene.service()
        scene.server.on(
            "POST", "v3/login", .json(#"{"user_id":"@\#(user):s","access_token":"token-2","device_id":"DEVICE"}"#))
        await #expect(throws: MatrixServiceError.self) {
            try await second.loginWithPassword(username: user, password: "p")
        }
        await #expect(throws: MatrixServiceError.self) {
            try await second.login(novaUserId: "@a:s", accessToken: "token-3")
        }
        await #expect(throws: MatrixServiceError.self) { _ = try await second.restoreSession() }
        #expect(scene.server.requests("POST", "v3/login").count == 1)
        #expect(scene.server.requests("POST", "v3/logout").isEmpty)
        #expect(scene.server.requests("GET", "v3/account/whoami").isEmpty)
        #expect(scene.credentials?["accessToken"] as? String == "token-1")
        try await first.logout()
        try await second.loginWithPassword(username: user, password: "p")
        #expect(scene.server.requests("POST", "v3/login").last?.json?["device_id"] == nil)
        #expect(second.userId == "@\(user):s")
    }

    @Test @MainActor func theFirstOnesLogoutLeavesTheCredentialsOfAnother() async throws {
        let scene = try await ServiceScene()
        let first = try await scene.running()
        // The file of a program without locks.
        var others = MXCredentials(homeServer: "https://s", userId: "@a:s", accessToken: "token-9")
        others.deviceId = "OTHER"
        try JSONEncoder().encode(others).write(to: scene.folder.appending(path: "credentials.json"))
        try await first.logout()
        #expect(scene.credentials?["accessToken"] as? String == "token-9")
        #expect(stored(in: scene.folder).isEmpty)
    }
}

@MainActor
private final class ErrorsOfASession: MXSessionDelegate {
    private(set) var all: [any Error] = []

    func session(_ session: MXSession, didReceiveError error: any Error) { all.append(error) }
}
