import Basics
import Dispatch
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// A store may be slow and may read the session: no lock is held during its work.
@Suite(.overSockets)
struct SlowStoreTests {
    /// A session with one room whose next commit is unknown.
    private func scene(_ store: ProbedStore) async throws -> SessionScene {
        let scene = try await SessionScene(store: store)
        scene.script(
            Sync.answer("s1", Sync.room(state: Sync.members, timeline: [Sync.message("$1")], prevBatch: "p1")))
        try await scene.session.start()
        #expect(await scene.isPolled())
        return scene
    }

    /// Everything that an application shows, as text.
    private static func look(at session: MXSession) -> String {
        let rooms = session.rooms.map { room in
            [
                room.displayName, room.summary.lastMessageId ?? "-",
                "\(room.state?.members.members.count ?? 0) members",
                "\(room.outgoingMessages.count) outgoing", room.typingUsers.joined(separator: " "),
                "\(room.aggregations(forEvent: "$1")?.reactions?.count ?? 0) reactions",
            ].joined(separator: ", ")
        }
        return "\(rooms) \(session.invitedRooms.count) \(session.user(withUserId: "@b:s") != nil)"
    }

    @Test func gettersSeeTheLastModel_andDoNotWaitForACommit() async throws {
        let (store, gate) = (ProbedStore(), DispatchSemaphore(value: 0))
        let scene = try await scene(store)
        let session = scene.session
        let heard = Lock<[String]>([])
        session.listenToEvents { event, _, _ in heard.withLock { $0.append(event.eventId) } }
        let before = Self.look(at: session)
        let commits = Lock(0)
        store.setProbe { call in
            guard call == .commit else { return }
            commits.withLock { $0 += 1 }
            gate.wait()
        }
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually { commits.withLock { $0 } == 1 })
        let seen = Lock<String?>(nil)
        Thread.detachNewThread {
            let look = Self.look(at: session)
            seen.withLock { $0 = look }
        }
        #expect(await eventually(within: .seconds(20)) { seen.withLock { $0 } == before })
        #expect(heard.withLock { $0 } == [])
        store.setProbe(nil)
        gate.signal()
        #expect(await eventually { session.rooms.first?.summary.lastMessageId == "$2" })
        #expect(await eventually { heard.withLock { $0 } == ["$2"] })
    }

    @Test(arguments: ProbedStore.Call.allCases) func aStoreMayLookAtItsSession(call: ProbedStore.Call) async throws {
        let store = ProbedStore()
        let scene = try await scene(store)
        let session = scene.session
        let looks = Lock<[String]>([])
        // Not from within its own read.
        let isLooking = Lock(false)
        store.setProbe { [weak session] made in
            guard made == call, let session,
                isLooking.withLock({ isLooking in
                    defer { isLooking = true }
                    return !isLooking
                })
            else { return }
            let look = Self.look(at: session)
            looks.withLock { $0.append(look) }
            isLooking.withLock { $0 = false }
        }
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2"), Sync.reaction("$3", to: "$2")])))
        #expect(await eventually(within: .seconds(20)) { session.rooms.first?.summary.lastMessageId == "$2" })
        scene.server.on("PUT", "v3/rooms/*/send/*/*", .json(#"{"event_id":"$4"}"#))
        scene.server.on("GET", "v3/rooms/*/messages", .json(#"{"chunk":[],"start":"p1"}"#))
        let room = try #require(session.rooms.first)
        _ = try await room.liveTimeline.paginate(10)
        _ = try await room.sendTextMessage("hello")
        _ = try room.storedMessages()
        _ = room.aggregations(forEvent: "$2")
        session.close()
        switch call {
        case .commit, .events, .event, .knownEvents, .relations, .close: #expect(!looks.withLock { $0.isEmpty })
        // Called before the probe exists, or not used here.
        case .open, .state, .stateEvent, .receipts, .trimTimeline: break
        }
    }

    @Test func aStoreMayCloseItsSession_butNotChangeIt() async throws {
        let store = ProbedStore()
        let scene = try await scene(store)
        let session = scene.session
        let outcomes = Lock<[String]>([])
        store.setProbe { [weak session] call in
            guard call == .commit, let session else { return }
            do {
                try session.setStore(MXMemoryStore())
            } catch {
                outcomes.withLock { $0.append("\(error)") }
            }
            session.close()
        }
        await scene.next(Sync.answer("s2", Sync.room(timeline: [Sync.message("$2")])))
        #expect(await eventually(within: .seconds(20)) { session.state == .closed })
        #expect(outcomes.withLock { $0.first }?.contains("a store cannot change its session") == true)
    }
}
