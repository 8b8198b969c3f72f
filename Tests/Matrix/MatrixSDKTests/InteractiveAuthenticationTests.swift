import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct InteractiveAuthenticationTests {
    /// Requires a registration token, then the dummy stage.
    private func server() async throws -> FakeHomeserver {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/register") { request in
            let flows =
                #""session":"S","flows":[{"stages":["m.login.registration_token","m.login.dummy"]}],"params":{}"#
            let auth = request.json?["auth"]
            guard let auth else { return .json("{\(flows)}", status: 401) }
            switch (auth["type"]?.string, auth["token"]?.string) {
            case ("m.login.registration_token", "good"):
                return .json(#"{"completed":["m.login.registration_token"],\#(flows)}"#, status: 401)
            case ("m.login.registration_token", _):
                return .error(401, "M_FORBIDDEN", flows)
            default: return .json(#"{"user_id":"@n:s","access_token":"a","device_id":"D"}"#)
            }
        }
        return server
    }

    @Test func stagesLeadToAnAccount() async throws {
        let server = try await server()
        let client = MXRestClient(homeServer: server.url, options: .quick)
        let step = try await client.register(username: "n", password: "p")
        guard case .challenge(let challenge) = step else { throw Unexpected() }
        #expect(challenge.authentication.remainingStages == ["m.login.registration_token", "m.login.dummy"])
        #expect(challenge.authentication.error == nil && challenge.authentication.session == "S")
        guard case .challenge(let next) = try await challenge.submit(.registrationToken("good")) else {
            throw Unexpected()
        }
        #expect(next.authentication.remainingStages == ["m.login.dummy"])
        guard case .completed(let credentials) = try await next.submit(.dummy) else { throw Unexpected() }
        #expect(credentials?.userId == "@n:s" && client.credentials?.accessToken == "a")
        let last = try #require(server.requests.last?.json)
        #expect(last["auth"]?["session"]?.string == "S" && last["username"]?.string == "n")
        #expect(last["refresh_token"]?.bool == true && last["device_id"] == nil)
    }

    @Test func aRefusedStageCanBeTriedAgain() async throws {
        let server = try await server()
        let client = MXRestClient(homeServer: server.url, options: .quick)
        guard case .challenge(let challenge) = try await client.register(username: "n", password: "p"),
            case .challenge(let again) = try await challenge.submit(.registrationToken("bad"))
        else { throw Unexpected() }
        #expect(again.authentication.error?.errcode == kMXErrCodeStringForbidden)
        guard case .challenge(let next) = try await again.submit(.registrationToken("good")) else { throw Unexpected() }
        #expect(next.authentication.error == nil)
    }

    @Test func aClosureCanAnswerAllStages() async throws {
        let server = try await server()
        let client = MXRestClient(homeServer: server.url, options: .quick)
        let credentials = try await client.register(username: "n", password: "p").completed { session in
            session.remainingStages.first == "m.login.dummy" ? .dummy : .registrationToken("good")
        }
        #expect(credentials?.accessToken == "a")
    }

    @Test func givingUpIsAnErrorThatNamesTheStages() async throws {
        let server = try await server()
        let client = MXRestClient(homeServer: server.url, options: .quick)
        await #expect {
            try await client.register(username: "n", password: "p").completed { _ in nil }
        } throws: { error in
            let error = error as? MatrixError
            return error?.code == .interactionRequired && error?.message.contains("m.login.dummy") == true
        }
    }

    @Test func aChallengeIsNoExpiredToken() async throws {
        let server = try await FakeHomeserver.start()
        server.on(
            "POST", "v3/delete_devices",
            [.json(#"{"session":"S","flows":[{"stages":["m.login.password"]}]}"#, status: 401), .ok])
        let client = MXRestClient.make(server, refreshToken: "r1")
        let isDone = try await client.deleteDevices(["D"]).completed { _ in .password("p", userId: "@a:s") }
        #expect(isDone && server.requests.count == 2)
        let auth = try #require(server.requests[1].json?["auth"])
        #expect(auth["identifier"]?["user"]?.string == "@a:s" && auth["password"]?.string == "p")
    }

    @Test func namesAreFreeOrTaken() async throws {
        let server = try await FakeHomeserver.start()
        server.on(
            "GET", "v3/register/available",
            [.json(#"{"available":true}"#), .error(400, "M_USER_IN_USE"), .error(400, "M_INVALID_USERNAME")])
        let client = MXRestClient(homeServer: server.url, options: .quick)
        let isFree = try await client.isUsernameAvailable("n")
        let isStillFree = try await client.isUsernameAvailable("n")
        #expect(isFree && !isStillFree)
        await #expect {
            try await client.isUsernameAvailable("N")
        } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringInvalidUsername }
    }

    private struct Unexpected: Error {}
}
