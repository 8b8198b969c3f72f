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
struct PublicRoomsDataSourceTests {
    private nonisolated func page(_ ids: [String], next: String?) -> FakeAnswer {
        let rooms = ids.map {
            #"{"room_id":"\#($0)","num_joined_members":1,"world_readable":false,"guest_can_join":false}"#
        }
        let next = next.map { #","next_batch":"\#($0)""# } ?? ""
        return .json(#"{"chunk":[\#(rooms.joined(separator: ","))]\#(next)}"#)
    }

    private func ids(_ source: MXKPublicRoomsDataSource) -> [String] {
        (0..<source.roomsCount).compactMap { source.room(at: $0)?.roomId }
    }

    @Test func pagesComeOneAfterTheOther_andEachRoomOnce() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v3/publicRooms") { [self] request in
            switch request.parameter("since") {
            case nil: page(["!1:s", "!2:s"], next: "n")
            case "n": page(["!2:s", "!3:s"], next: nil)
            default: .unrecognized
            }
        }
        let source = MXKPublicRoomsDataSource(matrixSession: scene.session)
        async let first = source.paginate()
        async let second = source.paginate()
        #expect(try await [first, second].sorted() == [1, 2])
        #expect(ids(source) == ["!1:s", "!2:s", "!3:s"])
        #expect(!source.canPaginate)
        #expect(try await source.paginate() == 0)
        #expect(scene.server.requests("GET", "v3/publicRooms").count == 2)
    }

    @Test func onlyTheLastOfSeveralPatternsIsAskedFor() async throws {
        let scene = try await KitScene()
        scene.server.on("POST", "v3/publicRooms", page(["!x:s"], next: "n"))
        let (source, delegate) = (MXKPublicRoomsDataSource(matrixSession: scene.session), DelegateRecorder())
        source.delegate = delegate
        for pattern in ["s", "sw", "swi"] { source.searchPattern = pattern }
        #expect(scene.server.requests("POST", "v3/publicRooms").isEmpty)
        #expect(await eventually { @MainActor in ids(source) == ["!x:s"] && source.state == .ready })
        let bodies = scene.server.requests("POST", "v3/publicRooms").compactMap {
            $0.json?["filter"]?["generic_search_term"]?.string
        }
        #expect(bodies == ["swi"])
        #expect(delegate.states == [.preparing, .ready])
    }

    @Test func aServerThatRefusesIsSaid_andNothingAfterDestroy() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v3/publicRooms", .error(403, "M_FORBIDDEN"))
        let (source, delegate) = (MXKPublicRoomsDataSource(matrixSession: scene.session), DelegateRecorder())
        source.delegate = delegate
        source.searchDelay = .milliseconds(1)
        source.server = "other"
        #expect(await eventually { @MainActor in source.state == .failed })
        #expect(source.error != nil)
        #expect(scene.server.requests("GET", "v3/publicRooms").last?.parameter("server") == "other")
        let told = delegate.states.count
        source.server = "another"
        source.destroy()
        #expect(try await source.paginate() == 0)
        #expect(delegate.states.count == told)
        #expect(scene.server.requests("GET", "v3/publicRooms").count == 1)
    }
}
