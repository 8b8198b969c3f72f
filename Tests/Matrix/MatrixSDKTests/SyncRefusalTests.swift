import Basics
import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// A session whose sync request is refused.
@Suite(.overSockets)
struct SyncRefusalTests {
    private func synced(_ change: (inout MXSessionOptions) -> Void = { _ in }) async throws -> SessionScene {
        let scene = try await SessionScene { options in
            options.errorDelay = .milliseconds(5)
            change(&options)
        }
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        try await scene.session.start()
        return scene
    }

    private static func refusal(_ status: Int, _ errcode: String, _ error: String) -> FakeAnswer {
        .json(#"{"errcode":"\#(errcode)","error":"\#(error)"}"#, status: status)
    }

    /// The answers of Synapse, Dendrite and a sliding sync server.
    @Test(
        arguments: [
            ("M_UNKNOWN", "Invalid stream token"), ("M_INVALID_PARAM", "malformed sync token"),
            ("M_INVALID_PARAM", "Invalid `since` parameter"), ("M_UNKNOWN_POS", "Unknown position"),
        ] as [(String, String)])
    func anUnknownPointOfTheStreamLeadsToAFirstSync(errcode: String, error: String) async throws {
        let scene = try await synced()
        await scene.next(
            Self.refusal(400, errcode, error),
            Sync.answer("t1", Sync.room(state: Sync.members, timeline: [Sync.message("$2")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(scene.polls.last { $0.parameter("since") == nil } != nil)
        #expect(await eventually { scene.polls.last?.parameter("since") == "t1" })
    }

    @Test(
        arguments: [
            (400, "M_UNKNOWN", "something is wrong"), (400, "M_BAD_JSON", "Invalid filter"),
            (400, "M_INVALID_PARAM", "timeout must be a number"), (400, "M_LIMIT_EXCEEDED", "too many tokens"),
            (403, "M_UNKNOWN", "Invalid stream token"),
        ] as [(Int, String, String)])
    func anyOtherRefusalKeepsThePointOfTheStream(status: Int, errcode: String, error: String) async throws {
        let scene = try await synced()
        await scene.next(
            Self.refusal(status, errcode, error), Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(scene.polls.dropFirst().allSatisfy { $0.parameter("since") != nil })
    }

    @Test(arguments: [(400, "M_INVALID_PARAM"), (404, "M_NOT_FOUND")] as [(Int, String)])
    func aFilterThatTheServerDoesNotKnowIsTold_andTheSessionsOwnTakesItsPlace(
        status: Int, errcode: String
    ) async throws {
        let scene = try await SessionScene { $0.errorDelay = .milliseconds(5) }
        scene.script(
            Self.refusal(status, errcode, "No such filter"),
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        await #expect { try await scene.session.start(withSyncFilterId: "77") } throws: {
            "\($0)".contains("77") && "\($0)".contains("No such filter")
        }
        #expect(await eventually { scene.session.state == .running })
        #expect(scene.polls.first?.parameter("filter") == "77")
        #expect(scene.polls.dropFirst().allSatisfy { $0.parameter("filter")?.hasPrefix("{") == true })
        #expect(scene.polls.count <= 3)
        // A filter ID that is passed later is used.
        try await scene.session.start(withSyncFilterId: "78")
        await scene.next(Sync.answer("s2"))
        #expect(await eventually { scene.polls.last?.parameter("filter") == "78" })
    }

    @Test func aFilterThatIsRefusedLaterCostsNoFirstSync() async throws {
        let scene = try await SessionScene { $0.errorDelay = .milliseconds(5) }
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")])))
        try await scene.session.start(withSyncFilterId: "77")
        await scene.next(
            Self.refusal(400, "M_INVALID_PARAM", "No such filter"),
            Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(scene.polls.dropFirst().allSatisfy { $0.parameter("since") != nil })
    }

    // MARK: Unknown refusals

    @Test func aPointThatIsRefusedAgainAndAgainIsGivenUp_onceTheServerAnswersWithoutIt() async throws {
        let scene = try await synced()
        scene.server.on("GET", "v3/sync") { request in
            switch request.parameter("since") {
            case "s1": Self.refusal(400, "M_UNKNOWN", "your stream is over")
            case nil: Sync.answer("t1", Sync.room(state: Sync.members, timeline: [Sync.message("$2")]))
            default: .silence
            }
        }
        scene.session.reconnect()
        #expect(await eventually { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(await eventually { scene.polls.last?.parameter("since") == "t1" })
        #expect(scene.polls.count { $0.parameter("since") == "s1" } >= 5)
        #expect(scene.polls.dropFirst().count { $0.parameter("since") == nil } == 1)
    }

    @Test(arguments: [400, 404, 410])
    func aServerThatRefusesEverythingDoesNotCostThePoint(status: Int) async throws {
        let scene = try await synced()
        let refusals = Lock(0)
        scene.server.on("GET", "v3/sync") { request in
            let count = refusals.withLock { count in
                count += 1
                return count
            }
            guard count > 20 else { return Self.refusal(status, "M_UNKNOWN", "no syncs today") }
            return request.parameter("since") == "s1"
                ? Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")])) : .silence
        }
        scene.session.reconnect()
        #expect(await eventually(within: .seconds(20)) { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        // Some polls omitted the token, and their refusal changed nothing.
        #expect((1...4).contains(scene.polls.dropFirst().count { $0.parameter("since") == nil }))
        #expect(try scene.session.rooms.first?.storedMessages().map(\.eventId) == ["$1", "$2"])
    }

    @Test(arguments: [401, 403, 429, 500, 503])
    func theseRefusalsNeverMeanThePoint(status: Int) async throws {
        let scene = try await synced()
        let refusals = Lock(0)
        scene.server.on("GET", "v3/sync") { _ in
            let count = refusals.withLock { count in
                count += 1
                return count
            }
            guard count > 12 else {
                return .json(#"{"errcode":"M_UNKNOWN","error":"no","retry_after_ms":1}"#, status: status)
            }
            return Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")]))
        }
        scene.session.reconnect()
        #expect(await eventually(within: .seconds(20)) { scene.session.rooms.first?.lastMessage?.eventId == "$2" })
        #expect(scene.polls.dropFirst().allSatisfy { $0.parameter("since") != nil })
    }
}
