import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct TokenTests {
    /// Accepts one token only, and issues the next for a refresh token, like a homeserver.
    final class Issuer: Sendable {
        struct State {
            var access = "a1"
            var refresh = "r1"
            var refreshes = 0
        }

        let state = Lock(State())

        init(_ server: FakeHomeserver) {
            server.setGate { [state] request in
                guard let token = request.token, token != state.withLock({ $0.access }) else { return nil }
                return .unknownToken()
            }
            server.on("POST", "v3/refresh") { [state] request in
                state.withLock { state in
                    guard request.json?["refresh_token"]?.string == state.refresh else {
                        return .error(403, "M_FORBIDDEN")
                    }
                    state.refreshes += 1
                    state.access = "a\(state.refreshes + 1)"
                    state.refresh = "r\(state.refreshes + 1)"
                    return .json(
                        #"{"access_token":"\#(state.access)","refresh_token":"\#(state.refresh)","expires_in_ms":600000}"#
                    )
                }
            }
        }

        /// Invalidates the access token.
        func expire() { state.withLock { $0.access = "expired" } }
    }

    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (MXRestClient) async throws -> Void

        init(_ name: String, _ make: @escaping @Sendable (MXRestClient) async throws -> Void) {
            (testDescription, self.make) = (name, make)
        }
    }

    /// One call of each kind that can find its token expired.
    static let calls: [Call] = [
        Call("sync") { _ = try await $0.sync() },
        Call("createFilter") { _ = try await $0.createFilter([:]) },
        Call("filter") { _ = try await $0.filter(withId: "0") },
        Call("whoAmI") { _ = try await $0.whoAmI() },
        Call("capabilities") { _ = try await $0.capabilities() },
        Call("loginToken") { _ = try await $0.loginToken() },
        Call("changePassword") { _ = try await $0.changePassword(to: "new") },
        Call("thirdPartyIdentifiers") { _ = try await $0.thirdPartyIdentifiers() },
        Call("turnServer") { _ = try await $0.turnServer() },
        Call("sendTextMessage") { _ = try await $0.sendTextMessage(toRoom: "!r", text: "t", transactionId: "1") },
        Call("redactEvent") { _ = try await $0.redactEvent("$e", inRoom: "!r", transactionId: "1") },
        Call("sendToDevice") { try await $0.sendToDevice(eventType: "t", messages: [:], transactionId: "1") },
        Call("createRoom") { _ = try await $0.createRoom(parameters: MXRoomCreationParameters()) },
        Call("joinRoom") { _ = try await $0.joinRoom("!r") },
        Call("knockRoom") { _ = try await $0.knockRoom("!r") },
        Call("leaveRoom") { try await $0.leaveRoom("!r") },
        Call("forgetRoom") { try await $0.forgetRoom("!r") },
        Call("inviteUser") { try await $0.inviteUser("@b:s", toRoom: "!r") },
        Call("kickUser") { try await $0.kickUser("@b:s", fromRoom: "!r") },
        Call("banUser") { try await $0.banUser("@b:s", fromRoom: "!r") },
        Call("unbanUser") { try await $0.unbanUser("@b:s", fromRoom: "!r") },
        Call("state") { _ = try await $0.state(ofRoom: "!r") },
        Call("stateEvent") { _ = try await $0.stateEvent(ofRoom: "!r", eventType: .roomName) },
        Call("sendStateEvent") { _ = try await $0.sendStateEvent(toRoom: "!r", eventType: .roomName, content: [:]) },
        Call("members") { _ = try await $0.members(ofRoom: "!r") },
        Call("joinedMembers") { _ = try await $0.joinedMembers(ofRoom: "!r") },
        Call("joinedRooms") { _ = try await $0.joinedRooms() },
        Call("upgradeRoom") { _ = try await $0.upgradeRoom("!r", toVersion: "12") },
        Call("reportEvent") { try await $0.reportEvent("$e", inRoom: "!r", reason: nil) },
        Call("spaceHierarchy") { _ = try await $0.spaceHierarchy(ofRoom: "!r") },
        Call("eventId") { _ = try await $0.eventId(inRoom: "!r", at: 1) },
        Call("messages") { _ = try await $0.messages(forRoom: "!r") },
        Call("contextOfEvent") { _ = try await $0.contextOfEvent("$e", inRoom: "!r") },
        Call("event") { _ = try await $0.event(withId: "$e", inRoom: "!r") },
        Call("relations") { _ = try await $0.relations(forEvent: "$e", inRoom: "!r", relationType: "m.thread") },
        Call("threads") { _ = try await $0.threads(inRoom: "!r") },
        Call("sendReadReceipt") { try await $0.sendReadReceipt(toRoom: "!r", forEvent: "$e") },
        Call("sendReadMarkers") { try await $0.sendReadMarkers(toRoom: "!r", fullyRead: "$e") },
        Call("sendTypingNotification") { try await $0.sendTypingNotification(inRoom: "!r", typing: true) },
        Call("setPresence") { try await $0.setPresence(.online) },
        Call("presence") { _ = try await $0.presence(ofUser: "@b:s") },
        Call("accountData") { _ = try await $0.accountData(ofType: "t") },
        Call("setAccountData") { try await $0.setAccountData([:], ofType: "t") },
        Call("roomAccountData") { _ = try await $0.roomAccountData(inRoom: "!r", ofType: "t") },
        Call("setRoomAccountData") { try await $0.setRoomAccountData([:], inRoom: "!r", ofType: "t") },
        Call("tags") { _ = try await $0.tags(ofRoom: "!r") },
        Call("addTag") { try await $0.addTag("t", order: 0.5, toRoom: "!r") },
        Call("removeTag") { try await $0.removeTag("t", fromRoom: "!r") },
        Call("profile") { _ = try await $0.profile(ofUser: "@b:s") },
        Call("setDisplayName") { try await $0.setDisplayName("n") },
        Call("setAvatarUrl") { try await $0.setAvatarUrl(nil) },
        Call("devices") { _ = try await $0.devices() },
        Call("device") { _ = try await $0.device(withId: "D") },
        Call("setDeviceName") { try await $0.setDeviceName("n", forDevice: "D") },
        Call("deleteDevice") { _ = try await $0.deleteDevice("D") },
        Call("deleteDevices") { _ = try await $0.deleteDevices(["D"]) },
        Call("pushRules") { _ = try await $0.pushRules() },
        Call("pushRule") { _ = try await $0.pushRule(kind: "room", ruleId: "!r") },
        Call("setPushRule") { try await $0.setPushRule(kind: "room", ruleId: "!r", rule: [:]) },
        Call("removePushRule") { try await $0.removePushRule(kind: "room", ruleId: "!r") },
        Call("enablePushRule") { try await $0.enablePushRule(kind: "room", ruleId: "!r", enabled: true) },
        Call("setPushRuleActions") { try await $0.setPushRuleActions(kind: "room", ruleId: "!r", actions: "[]") },
        Call("setPusher") {
            try await $0.setPusher(
                pushKey: "k", kind: .none, appId: "a", appDisplayName: "a", deviceDisplayName: "d", profileTag: "p",
                lang: "en", data: [:], append: false)
        },
        Call("pushers") { _ = try await $0.pushers() },
        Call("notifications") { _ = try await $0.notifications() },
        Call("publicRooms") { _ = try await $0.publicRooms() },
        Call("resolveRoomAlias") { _ = try await $0.resolveRoomAlias("#a:s") },
        Call("addRoomAlias") { try await $0.addRoomAlias("#a:s", toRoom: "!r") },
        Call("removeRoomAlias") { try await $0.removeRoomAlias("#a:s") },
        Call("aliases") { _ = try await $0.aliases(ofRoom: "!r") },
        Call("directoryVisibility") { _ = try await $0.directoryVisibility(ofRoom: "!r") },
        Call("setDirectoryVisibility") { try await $0.setDirectoryVisibility(.public, ofRoom: "!r") },
        Call("searchMessages") { _ = try await $0.searchMessages("x") },
        Call("searchUsers") { _ = try await $0.searchUsers("x") },
        Call("maximumUploadSize") { _ = try await $0.maximumUploadSize() },
        Call("uploadContent") { _ = try await $0.uploadContent(Data("x".utf8)) },
        Call("downloadContent") { client in
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try await client.downloadContent("mxc://s/m", to: file)
            try FileManager.default.removeItem(at: file)
        },
    ]

    /// Valid for all of ``calls``.
    private static let answer = FakeAnswer.json(
        #"""
        {"next_batch":"s","filter_id":"0","user_id":"@a:s","device_id":"DEVICE","capabilities":{},"login_token":"l",
         "expires_in_ms":1,"event_id":"$e","room_id":"!r","joined":{},"joined_rooms":[],"replacement_room":"!n",
         "origin_server_ts":1,"type":"m.room.message","content":{},"event":{"type":"t","content":{}},
         "presence":"online","devices":[],"chunk":[],"visibility":"public","results":[],"limited":false,
         "search_categories":{"room_events":{}},"pushers":[],"aliases":[],"content_uri":"mxc://s/m","versions":["v1.11"]}
        """#)

    @Test(arguments: calls) func aTokenMayExpireAtEveryRequest(call: Call) async throws {
        let server = try await FakeHomeserver.start()
        for method in ["GET", "PUT", "POST", "DELETE"] { server.on(method, "/_matrix/**", Self.answer) }
        server.hasPlainRooms()
        let issuer = Issuer(server)
        let client = MXRestClient.make(server, token: "a1", refreshToken: "r1")
        issuer.expire()
        try await call.make(client)
        #expect(issuer.state.withLock { $0.refreshes } == 1)
        #expect(client.credentials?.accessToken == "a2" && client.credentials?.refreshToken == "r2")
        // The refused request is repeated unchanged, with the new token.
        let requests = server.requests.filter { $0.token != nil && $0.path.last != "refresh" }
        let refused = try #require(requests.first { $0.token == "a1" })
        let repeated = requests.filter { $0.token == "a2" && $0.rawPath == refused.rawPath }
        #expect(repeated.count == 1 && repeated[0].method == refused.method && repeated[0].body == refused.body)
        #expect(requests.filter { $0.token == "a1" }.count == 1)
    }

    @Test func manyRequestsShareOneRefreshThatIsSavedFirst() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let issuer = Issuer(server)
        let saved = Lock<[String?]>([])
        let client = MXRestClient.make(
            server, token: "a0", refreshToken: "r1",
            persist: { credentials in
                // Nothing may be sent with the new token before this returns.
                #expect(!server.requests.contains { $0.token == credentials.accessToken })
                saved.withLock { $0.append(credentials.refreshToken) }
            })
        let told = Lock<[String?]>([])
        client.setRefreshedTokensHandler { credentials in told.withLock { $0.append(credentials.refreshToken) } }
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 { group.addTask { _ = try await client.joinedRooms() } }
            try await group.waitForAll()
        }
        #expect(issuer.state.withLock { $0.refreshes } == 1)
        #expect(saved.withLock { $0 } == ["r2"] && told.withLock { $0 } == ["r2"])
    }

    @Test func aTokenIsRefreshedBeforeItExpires() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let issuer = Issuer(server)
        let soon = UInt64(Date().timeIntervalSince1970 * 1000) + 30_000
        let client = MXRestClient.make(server, token: "a1", refreshToken: "r1", expiresAt: soon)
        _ = try await client.joinedRooms()
        #expect(server.requests.map(\.path.last) == ["refresh", "joined_rooms"])
        #expect(server.requests[0].token == nil && server.requests[1].token == "a2")
        #expect(issuer.state.withLock { $0.refreshes } == 1)
    }

    @Test func tokensThatCannotBeSavedAreNotUsed() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let issuer = Issuer(server)
        let tries = Lock(0)
        let client = MXRestClient.make(
            server, token: "a0", refreshToken: "r1",
            persist: { _ in
                let count = tries.withLock { count in
                    count += 1
                    return count
                }
                if count == 1 { throw CocoaError(.fileWriteOutOfSpace) }
            })
        await #expect {
            try await client.joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .store }
        #expect(!server.requests.contains { $0.token == "a2" })
        _ = try await client.joinedRooms()
        #expect(tries.withLock { $0 } == 2 && issuer.state.withLock { $0.refreshes } == 1)
    }

    @Test func aRefusedRefreshIsReportedOnceAndEndsIt() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .unknownToken(softLogout: true))
        server.on("POST", "v3/refresh", .error(403, "M_FORBIDDEN"))
        let reports = Lock<[String]>([])
        let client = MXRestClient.make(
            server, refreshToken: "r1",
            unauthenticated: { error, isSoftLogout, isRefreshTokenAuth in
                reports.withLock { $0.append("\(error.errcode) \(isSoftLogout) \(isRefreshTokenAuth)") }
            })
        for _ in 0..<3 {
            await #expect {
                try await client.joinedRooms()
            } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringForbidden }
        }
        #expect(await eventually { reports.withLock { !$0.isEmpty } })
        #expect(reports.withLock { $0 } == ["M_FORBIDDEN true true"])
        #expect(server.requests("POST", "v3/refresh").count == 1)
        #expect(server.requests("GET", "v3/joined_rooms").count == 1)
    }

    @Test(arguments: [true, false]) func withoutARefreshTokenALogoutIsReported(isSoft: Bool) async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .unknownToken(softLogout: isSoft))
        let reports = Lock<[String]>([])
        let client = MXRestClient.make(
            server,
            unauthenticated: { error, isSoftLogout, isRefreshTokenAuth in
                reports.withLock { $0.append("\(error.errcode) \(isSoftLogout) \(isRefreshTokenAuth)") }
            })
        for _ in 0..<2 {
            await #expect {
                try await client.joinedRooms()
            } throws: { ($0 as? MXError)?.isSoftLogout == isSoft }
        }
        #expect(await eventually { reports.withLock { !$0.isEmpty } })
        #expect(reports.withLock { $0 } == ["M_UNKNOWN_TOKEN \(isSoft) false"])
    }

    @Test func aRefreshThatFailsOnTheWayKeepsTheTokens() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms") { request in
            request.token == "a2" ? .json(#"{"joined_rooms":[]}"#) : .unknownToken()
        }
        let tokens = FakeAnswer.json(#"{"access_token":"a2"}"#)
        let confused = FakeAnswer.error(404, "M_UNRECOGNIZED")
        server.on("POST", "v3/refresh", [.drop, .page(502), confused, tokens])
        let client = MXRestClient.make(server, refreshToken: "r1")
        _ = try? await client.joinedRooms()
        _ = try await client.joinedRooms()
        #expect(server.requests("POST", "v3/refresh").count == 4)
        #expect(client.credentials?.accessToken == "a2" && client.credentials?.refreshToken == "r1")
    }

    @Test func aTokenThatIsRefusedRightAfterItsRefreshIsNoLoop() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .unknownToken())
        server.on("POST", "v3/refresh", .json(#"{"access_token":"a","refresh_token":"r"}"#))
        let client = MXRestClient.make(server, refreshToken: "r1")
        await #expect {
            try await client.joinedRooms()
        } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringUnknownToken }
        #expect(server.requests("GET", "v3/joined_rooms").count == 2)
        #expect(server.requests("POST", "v3/refresh").count == 1)
    }

    @Test func cancellingOneWhoWaitsLeavesTheRefreshToTheOthers() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let issuer = Issuer(server)
        server.on("POST", "v3/refresh", .json(#"{"access_token":"a2"}"#).after(.milliseconds(200)))
        issuer.state.withLock { $0.access = "a2" }
        let client = MXRestClient.make(server, token: "a1", refreshToken: "r1")
        let cancelled = Task { try await client.joinedRooms() }
        #expect(await server.hasBeenAsked("POST", "v3/refresh"))
        async let other = client.joinedRooms()
        cancelled.cancel()
        await #expect { try await cancelled.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
        #expect(try await other == [])
        #expect(server.requests("POST", "v3/refresh").count == 1)
    }
}
