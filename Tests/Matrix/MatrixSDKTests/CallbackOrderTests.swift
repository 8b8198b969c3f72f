import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

/// A session delivers everything on its completion queue in one order: a result never overtakes the events that came
/// with it.
@Suite(.overSockets)
struct CallbackOrderTests {
    /// The calls, in order.
    private final class Calls: Sendable {
        private let names = Lock<[String]>([])

        func add(_ name: String) { names.withLock { $0.append(name) } }
        var all: [String] { names.withLock { $0 } }
        func place(_ name: String) -> Int { all.firstIndex(of: name) ?? -1 }
    }

    private func observe(
        _ name: Notification.Name, of session: MXSession, _ body: @escaping @Sendable (Notification) -> Void
    ) -> any NSObjectProtocol {
        NotificationCenter.default.addObserver(forName: name, object: session, queue: nil, using: body)
    }

    /// A session with its own serial queue, blocked until it is resumed.
    private func started(_ events: Int) async throws -> (SessionScene, MXRoom, DispatchQueue) {
        let scene = try await SessionScene()
        let timeline = (0..<events).map { Sync.message("$\($0)") }
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: timeline)))
        try await scene.session.start()
        let room = try #require(scene.session.room(withRoomId: "!r:s"))
        await scene.session.finishTelling()
        let queue = DispatchQueue(label: "busy")
        scene.session.matrixRestClient.completionQueue = queue
        return (scene, room, queue)
    }

    @Test func aPageComesAfterItsEvents_alsoWhenMessagesAreSentInTheSameTurn() async throws {
        let (scene, room, queue) = try await started(5)
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$sent"}"#))
        let calls = Calls()
        _ = room.liveTimeline.listenToEvents { event, direction, _ in
            if direction == .backwards { calls.add(event.eventId) }
        }
        queue.suspend()
        for _ in 0..<10 { room.sendTextMessage("x") { _ in calls.add("sent") } }
        room.liveTimeline.paginate(5, direction: .backwards, onlyFromStore: true) { _ in calls.add("page") }
        // Pages are loaded one at a time, so the first is complete.
        _ = try await room.liveTimeline.paginate(1, onlyFromStore: true)
        queue.resume()
        #expect(await eventually { calls.all.filter { $0 == "sent" }.count == 10 && calls.place("page") >= 0 })
        #expect(calls.all.filter { $0 != "sent" } == ["$4", "$3", "$2", "$1", "$0", "page"])
    }

    @Test func aStartComesAfterWhatTheFirstSyncBrought() async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$0")])))
        let (calls, queue) = (Calls(), DispatchQueue(label: "busy"))
        scene.session.matrixRestClient.completionQueue = queue
        let observers = [
            observe(.mxSessionDidSync, of: scene.session) { _ in calls.add("sync") }
        ]
        defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
        queue.suspend()
        scene.session.start { _ in calls.add("started") }
        #expect(await scene.isPolled())
        queue.resume()
        #expect(await eventually { calls.all.contains("started") })
        #expect(calls.all.contains("sync") && calls.all.last == "started", "\(calls.all)")
    }

    @Test func aJoinedRoomIsToldBeforeTheAnswerToTheJoin() async throws {
        let (scene, _, queue) = try await started(1)
        scene.server.on("POST", "v3/join/*", .json(#"{"room_id":"!n:s"}"#))
        let calls = Calls()
        let observer = observe(.mxSessionNewRoom, of: scene.session) { _ in calls.add("room") }
        defer { NotificationCenter.default.removeObserver(observer) }
        queue.suspend()
        scene.session.joinRoom("!n:s") { _ in calls.add("joined") }
        #expect(await eventually { !scene.server.requests("POST", "v3/join/*").isEmpty })
        await scene.next(Sync.answer("s2", Sync.room("!n:s", state: Sync.members)))
        #expect(await scene.isPolled())
        queue.resume()
        #expect(await eventually { calls.all.contains("joined") })
        #expect(calls.all == ["room", "joined"])
    }

    @MainActor
    private final class Delegate: MXSessionDelegate {
        let calls: Calls
        init(_ calls: Calls) { self.calls = calls }
        func session(_ session: MXSession, didReceiveError error: any Error) { calls.add("delegate") }
    }

    /// The delegate is called on the main thread, and so are callbacks by default.
    @MainActor
    @Test func theDelegateIsToldOfAFailureBeforeTheStartIs() async throws {
        let scene = try await SessionScene()
        let calls = Calls()
        let delegate = Delegate(calls)
        scene.session.matrixRestClient.completionQueue = .main
        scene.session.delegate = delegate
        scene.script(.error(403, "M_FORBIDDEN"))
        scene.session.start { _ in calls.add("failed") }
        #expect(await eventually { calls.all.contains("failed") && calls.all.contains("delegate") })
        #expect(calls.all.prefix(2) == ["delegate", "failed"])
        withExtendedLifetime(delegate) {}
    }

    // MARK: Order of calls

    @Test(.regression("older programs: setStore, then start at once"), arguments: 0..<10)
    func aStoreThatIsSetRightBeforeTheStartIsUsed(_: Int) async throws {
        let scene = try await SessionScene()
        scene.script(Sync.answer("s1", Sync.room(state: Sync.members)))
        let store = MXMemoryStore()
        let (calls, failures) = (Calls(), Calls())
        func note(_ name: String) -> @Sendable (MXResponse<Void>) -> Void {
            { response in
                calls.add(name)
                if let error = response.error { failures.add("\(name): \(error)") }
            }
        }
        scene.session.setStore(store, completion: note("store"))
        scene.session.start(completion: note("start"))
        #expect(await eventually { calls.all.count == 2 })
        #expect(calls.all == ["store", "start"] && failures.all.isEmpty, "\(failures.all)")
        #expect(try !store.state(of: "!r:s").isEmpty)
    }

    @Test(arguments: 0..<10) func ofTwoStoresTheFirstIsUsed(_: Int) async throws {
        let scene = try await SessionScene()
        let results = Lock<[Bool]>([])
        for store in [MXMemoryStore(), MXMemoryStore()] {
            scene.session.setStore(store) { response in results.withLock { $0.append(response.isSuccess) } }
        }
        #expect(await eventually { results.withLock { $0.count } == 2 })
        #expect(results.withLock { $0 } == [true, false])
    }

    @Test(arguments: 0..<10) func aPauseRightAfterAStartPauses(_: Int) async throws {
        let scene = try await SessionScene()
        let calls = Calls()
        scene.session.setStore(MXMemoryStore()) { _ in calls.add("store") }
        scene.session.start { _ in calls.add("start") }
        scene.session.pause()
        #expect(await eventually { calls.all.count == 2 && scene.session.state == .paused })
        // However often the session syncs before it pauses, the background sync is answered, too.
        scene.server.on("GET", "v3/sync", Sync.answer("s1"))
        let error = Lock<String?>("not called")
        scene.session.start { response in if response.isSuccess { calls.add("again") } }
        scene.session.pause()
        scene.session.backgroundSync { response in error.withLock { $0 = response.error.map { "\($0)" } } }
        #expect(await eventually { error.withLock { $0 } != "not called" })
        #expect(error.withLock { $0 } == nil)
        #expect(scene.session.state == .paused)
    }

    @Test(arguments: 0..<10) func aLogoutRightAfterAStartEndsIt(_: Int) async throws {
        let scene = try await SessionScene()
        scene.server.on("POST", "v3/logout", .json("{}"))
        let calls = Calls()
        scene.session.start { calls.add($0.isSuccess ? "started" : "not started") }
        scene.session.logout { calls.add($0.isSuccess ? "logged out" : "not logged out") }
        scene.session.start { calls.add($0.isSuccess ? "started again" : "refused") }
        #expect(await eventually { calls.all.count == 3 })
        #expect(Set(calls.all) == ["not started", "logged out", "refused"])
    }

    @Test func aCloseEndsWhatHasNotBegun() async throws {
        let scene = try await SessionScene()
        let results = Lock<[MatrixError.Code?]>([])
        scene.session.setStore(MXMemoryStore()) { response in
            results.withLock { $0.append((response.error as? MatrixError)?.code) }
        }
        scene.session.start { response in results.withLock { $0.append((response.error as? MatrixError)?.code) } }
        scene.session.close()
        #expect(await eventually { results.withLock { $0.count } == 2 })
        #expect(results.withLock { $0.last ?? nil } == .cancelled)
        #expect(scene.session.state == .closed)
        #expect { try scene.session.setStore(MXMemoryStore()) } throws: { ($0 as? MatrixError)?.code == .cancelled }
    }
}
