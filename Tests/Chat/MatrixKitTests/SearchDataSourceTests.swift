import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

@Suite(.overSockets)
@MainActor
struct SearchDataSourceTests {
    private nonisolated func page(_ events: [String], next: String?) -> FakeAnswer {
        let results = events.map { #"{"rank":1,"result":\#($0)}"# }.joined(separator: ",")
        let next = next.map { #","next_batch":"\#($0)""# } ?? ""
        return .json(
            #"{"search_categories":{"room_events":{"count":3,"highlights":["resume"],"results":[\#(results)]\#(next)}}}"#
        )
    }

    private func scene() async throws -> KitScene {
        let scene = try await KitScene()
        try await scene.start(
            KitScene.room("!clear:s", timeline: [KitScene.message("$c", "resume of the store", ts: 80)]),
            KitScene.room(
                "!secret:s", state: [KitScene.encryption],
                timeline: [
                    KitScene.message("$5", "my RÉSUMÉ", ts: 5), KitScene.message("$6", "nothing", ts: 60),
                    KitScene.message("$70", "a Resume", ts: 70),
                ]))
        return scene
    }

    private func ids(_ source: MXKSearchDataSource) -> [String] {
        (0..<source.numberOfCells).compactMap {
            (source.cellData(at: $0) as? any MXKSearchCellDataStoring)?.searchResult.event.eventId
        }
    }

    @Test func whatTheServerAndTheStoreHaveFound_isMergedByTime_pageByPage() async throws {
        let scene = try await scene()
        scene.server.on(
            "POST", "v3/search",
            [
                page(
                    [
                        KitScene.message("$100", "resume", ts: 100, room: "!clear:s"),
                        KitScene.message("$50", "resume", ts: 50, room: "!clear:s"),
                    ], next: "n"),
                page([KitScene.message("$10", "resume", ts: 10, room: "!clear:s")], next: nil),
            ])
        let (source, delegate) = (MXKSearchDataSource(matrixSession: scene.session), DelegateRecorder())
        source.delegate = delegate
        await source.search("resume")
        #expect(ids(source) == ["$100", "$70", "$50"])
        #expect(source.serverCount == 3)
        #expect(delegate.states == [.preparing, .ready])
        #expect(await source.paginate() == 1)
        #expect(ids(source) == ["$100", "$70", "$50", "$10"])
        #expect(await source.paginate() == 1)
        #expect(ids(source).last == "$5")
        #expect(!source.canPaginate)
        #expect(delegate.changes.compactMap { $0?.inserted } == [IndexSet(0..<3), IndexSet(3..<4), IndexSet(4..<5)])
        let cell = try #require(source.cellData(at: 0) as? MXKSearchCellData)
        #expect(cell.message == "resume")
        #expect(cell.title?.hasPrefix("@b:s – ") == true)
    }

    @Test func theSameTextIsSearchedForAgainOnlyByForce() async throws {
        let scene = try await scene()
        scene.server.on("POST", "v3/search", page([], next: nil))
        let source = MXKSearchDataSource(matrixSession: scene.session)
        await source.search("resume")
        await source.search("resume")
        #expect(scene.server.requests("POST", "v3/search").count == 1)
        await source.search("resume", force: true)
        #expect(scene.server.requests("POST", "v3/search").count == 2)
        #expect(ids(source) == ["$70", "$5"])
    }

    @Test func aServerThatDoesNotSearch_leavesWhatIsStored() async throws {
        let scene = try await scene()
        scene.server.on("POST", "v3/search", .error(403, "M_FORBIDDEN"))
        let source = MXKSearchDataSource(matrixSession: scene.session)
        await source.search("resume")
        #expect(ids(source) == ["$70", "$5"])
        #expect(source.serverError != nil)
        #expect(source.state == .ready)
    }

    @Test func aLateAnswerAfterDestroy_changesNothing() async throws {
        let scene = try await scene()
        scene.server.on("POST", "v3/search", page([], next: nil).after(.milliseconds(100)))
        let (source, delegate) = (MXKSearchDataSource(matrixSession: scene.session), DelegateRecorder())
        source.delegate = delegate
        source.searchMessages("resume", force: false)
        #expect(await scene.server.hasBeenAsked("POST", "v3/search"))
        let told = delegate.changes.count
        source.destroy()
        await source.search("resume", force: true)
        #expect(source.numberOfCells == 0)
        #expect(delegate.changes.count == told)
    }
}
