import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct PipelineTests {
    @Test func requestsCarryTokenPathAndBody() async throws {
        let server = try await FakeHomeserver.start()
        server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$1"}"#))
        let id = try await MXRestClient.make(server).sendTextMessage(
            toRoom: "!a/b?:s", text: "hello / \"you\"", transactionId: "t 1")
        #expect(id == "$1")
        let request = try #require(server.requestsProper.first)
        #expect(request.rawPath == "/_matrix/client/v3/rooms/%21a%2Fb%3F%3As/send/m.room.message/t%201")
        #expect(request.token == "token" && request.field("Content-Type") == "application/json")
        #expect(request.json?["body"]?.string == "hello / \"you\"" && request.json?["msgtype"]?.string == "m.text")
        #expect(request.json?["m.mentions"]?.isObject == true && request.json?["format"] == nil)
    }

    @Test func absentParametersAreNotSent() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/rooms/*/leave", .ok)
        server.on("GET", "v3/rooms/*/messages", .json(#"{"chunk":[],"start":"s"}"#))
        let client = MXRestClient.make(server)
        try await client.leaveRoom("!r")
        _ = try await client.messages(forRoom: "!r", limit: 5)
        #expect(server.requests[0].body == Array("{}".utf8))
        #expect(server.requests[1].query.map(\.name) == ["dir", "limit"])
    }

    @Test(arguments: ["", ".", ".."]) func idsThatNoPathCanCarryAreRefusedHere(id: String) async throws {
        let server = try await FakeHomeserver.start()
        await #expect {
            try await MXRestClient.make(server).leaveRoom(id)
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
        #expect(server.requests.isEmpty)
    }

    @Test func errorsOfTheServerAreItsWords() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/join/*", .error(403, "M_FORBIDDEN"))
        await #expect {
            try await MXRestClient.make(server).joinRoom("!r")
        } throws: { error in
            let error = error as? MXError
            return error?.errcode == kMXErrCodeStringForbidden && error?.status == 403
                && error?.error == "said by the server"
        }
        #expect(server.requests.count == 1)
    }

    @Test func aProxysPageIsAnErrorWithItsStatus() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .page(502))
        await #expect {
            try await MXRestClient.make(server).joinedRooms()
        } throws: { error in
            let error = error as? MatrixError
            return error?.code == .http(status: 502) && error?.isRetryable == true
                && error?.message.contains("html") == false
        }
    }

    @Test(arguments: [#"{"joined_rooms""#, "", "[]", #"{"devices":1}"#])
    func answersThatAreNotTheSpecificationsAreBadResponses(body: String) async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/devices", .json(body))
        await #expect {
            try await MXRestClient.make(server).devices()
        } throws: { ($0 as? MatrixError)?.code == .badResponse }
    }

    @Test func callsThatNeedALoginSaySo() async throws {
        let server = try await FakeHomeserver.start()
        await #expect {
            try await MXRestClient(homeServer: server.url, options: .quick).joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .unauthenticated }
        #expect(server.requests.isEmpty)
    }

    @Test func aFirstSyncMayTakeItsTime() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/sync", .json(#"{"next_batch":"s"}"#).after(.milliseconds(2500)))
        var options = MXRestClientOptions.quick
        options.requestTimeout = .seconds(1)
        let client = MXRestClient.make(server, options: options)
        await #expect {
            try await client.sync(patience: .zero)
        } throws: { ($0 as? MatrixError)?.code == .timedOut }
        #expect(try await client.sync(patience: .seconds(30)).isEmpty == false)
    }

    @Test func contentThatIsNoJSONIsRefusedHere() async throws {
        let server = try await FakeHomeserver.start()
        let client = MXRestClient.make(server)
        await #expect {
            try await client.sendEvent(toRoom: "!r", eventType: .roomMessage, content: ["at": Date()])
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
        await #expect {
            try await client.sendEvent(toRoom: "!r", eventType: .roomMessage, contentJSON: "[1]")
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
        #expect(server.requests.isEmpty)
    }

    @Test func callbacksArriveOnceOnTheirQueue() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":["!a"]}"#))
        let client = MXRestClient.make(server)
        let queue = DispatchQueue(label: "test")
        queue.setSpecific(key: Self.key, value: true)
        client.completionQueue = queue
        let seen = Lock<[(rooms: [String]?, isOnQueue: Bool)]>([])
        client.joinedRooms { result in
            let isOnQueue = DispatchQueue.getSpecific(key: Self.key) == true
            seen.withLock { $0.append((result.value, isOnQueue)) }
        }
        #expect(await eventually { seen.withLock { !$0.isEmpty } })
        #expect(seen.withLock { $0.count == 1 && $0[0].rooms == ["!a"] && $0[0].isOnQueue })
    }

    private static let key = DispatchSpecificKey<Bool>()

    @MainActor private final class RoomList {
        var rooms: [String] = []

        func load(_ client: MXRestClient) {
            client.joinedRooms { result in self.rooms = result.value ?? [] }
        }
    }

    @MainActor @Test func callbacksOfTheMainActorsClassesComeBackToIt() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":["!a"]}"#))
        let client = MXRestClient.make(server)
        client.completionQueue = .main
        let list = RoomList()
        list.load(client)
        #expect(await eventually { await list.rooms == ["!a"] })
    }

    @Test func cancellingAnOperationEndsTheRequestAndTellsTheCallback() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .silence)
        let seen = Lock<[MatrixError.Code?]>([])
        let operation = MXRestClient.make(server).joinedRooms { result in
            seen.withLock { $0.append((result.error as? MatrixError)?.code) }
        }
        #expect(await server.hasBeenAsked("GET", "v3/joined_rooms"))
        operation.cancel()
        operation.cancel()
        #expect(await eventually { seen.withLock { !$0.isEmpty } })
        #expect(seen.withLock { $0 } == [.cancelled] && operation.isCancelled)
    }

    @Test func cancellingATaskEndsTheRequest() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/sync", .silence)
        let client = MXRestClient.make(server)
        let task = Task { try await client.sync(timeout: .seconds(30)) }
        #expect(await server.hasBeenAsked("GET", "v3/sync"))
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
    }

    @Test func aSyncsAnswerIsHandedOverAsItCame() async throws {
        let server = try await FakeHomeserver.start()
        let body = #"{"next_batch":"s2","rooms":{}}"#
        server.on("GET", "v3/sync", .json(body))
        let client = MXRestClient.make(server)
        #expect(
            try await client.sync(since: "s 1", timeout: .seconds(30), filter: "0", setPresence: .offline)
                == Array(body.utf8))
        let query = Dictionary(uniqueKeysWithValues: server.requests[0].query.map { ($0.name, $0.value) })
        #expect(
            query == [
                "since": "s 1", "timeout": "30000", "filter": "0", "set_presence": "offline",
                "use_state_after": "true",
            ])
    }

    @Test func answersAreBounded() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/sync", FakeAnswer(body: [UInt8](repeating: 0x20, count: 5000)))
        var options = MXRestClientOptions.quick
        options.maximumSyncSize = 4999
        await #expect {
            try await MXRestClient.make(server, options: options).sync()
        } throws: { ($0 as? MatrixError)?.code == .tooLarge }
    }
}
