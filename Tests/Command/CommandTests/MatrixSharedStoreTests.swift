import Basics
import Foundation
import MatrixTestSupport
import TestSupport
import Testing

/// Data that commands keep of an account, so that they request it only once.
@Suite(.overSockets)
struct MatrixSharedStoreTests {
    private func isRunning(_ lines: [String]) -> Bool { lines.contains { $0.contains(#""to":"running""#) } }

    @Test func roomsAsksForEverythingOnce_andThenForWhatIsNew() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let first = try await scene.matrix("rooms")
        #expect(first.status == 0)
        #expect(first.run.output.first?.contains("Lobby") == true)
        #expect(scene.server.requests.count == 1)
        scene.bring(MatrixScene.room("!s:hs", name: "Second"))
        let second = try await scene.matrix("rooms", "--json")
        #expect(second.status == 0)
        #expect(Set(second.run.objects.compactMap { $0["name"] as? String }) == ["Lobby", "Second"])
        #expect(scene.syncTokens == [nil, "1"])
        #expect(scene.server.requests.count == 2)
        #expect(scene.server.requests("GET", "v3/sync").map { $0.parameter("timeout") } == ["0", "0"])
    }

    /// 20 kB of garbage at the beginning of the tables.
    @Test func aDamagedStoreIsSaidOnce_withWhatIsLost() async throws {
        let scene = try await MatrixScene()
        let timeline = (0..<90).map { MatrixScene.message("$\($0)", String(repeating: "\($0) ", count: 300)) }
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: timeline))
        #expect(try await scene.matrix("rooms").status == 0)
        var bytes = try Data(contentsOf: scene.database)
        let start = 4096
        try #require(bytes.count > start + 20_000)
        bytes.replaceSubrange(start..<start + 20_000, with: Data(repeating: 0x5A, count: 20_000))
        try bytes.write(to: scene.database)
        // The garbage may be found when the store is opened, or later. In that case, the next command reports the
        // result.
        var said: [String] = []
        for _ in 0..<3 {
            let rooms = try await scene.matrix("rooms")
            #expect(rooms.status == 0 && rooms.run.output.first?.contains("Lobby") == true)
            said += rooms.run.errors.filter { $0.hasPrefix("warning: the store of @alice:hs was rebuilt.") }
        }
        #expect(said.count == 1, "\(said)")
        #expect(
            said.first?.contains("damaged") == true && said.first?.contains("All keys in it are lost") == true,
            "\(said)")
    }

    @Test func aRoomIsNamedForOneSmallRequest() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        #expect(try await scene.matrix("rooms").status == 0)
        let before = scene.server.requests.count
        #expect(try await scene.matrix("send", "lobby", "hi").status == 0)
        let asked = scene.server.requests.dropFirst(before).map { "\($0.method) \($0.path)" }
        #expect(asked.count == 3, "\(asked)")  // the sync, the room's encryption, the message
        #expect(scene.syncTokens == [nil, "1"])
    }

    @Test func idsAndAliasesNeedNoSync_andNothingIsSentUnasked() async throws {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v3/directory/room/*", .json(#"{"room_id":"!r:hs","servers":["hs"]}"#))
        #expect(try await scene.matrix("send", "!r:hs", "hi").status == 0)
        #expect(scene.server.requests.map(\.method) == ["GET", "PUT"])
        #expect(try await scene.matrix("send", "#lobby:hs", "hi").status == 0)
        #expect(scene.server.requests.dropFirst(2).map(\.method) == ["GET", "GET", "PUT"])
        #expect(scene.syncTokens == [])
    }

    @Test func whatIsSentAgainWithItsTransactionIDIsOneMessage() async throws {
        let scene = try await MatrixScene()
        for _ in 0..<2 {
            let sent = try await scene.matrix("send", "!r:hs", "deployed", "--txn-id", "deploy/42")
            #expect(sent.status == 0)
        }
        let paths = scene.server.requests("PUT", "v3/rooms/*/send/*/*").map(\.rawPath)
        #expect(paths.count == 2)
        #expect(paths.allSatisfy { $0.hasSuffix("/send/m.room.message/deploy%2F42") }, "\(paths)")
        try await MatrixScene.expectWrongUse(["send", "!r:hs", "x", "--txn-id", ""])
    }

    @Test func aSecondProcessReadsWhatTheFirstHasStored_andSyncsFromThere() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server)
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor(isRunning))
        stream.add(MatrixScene.message("$1", "one"))
        #expect(await listen.waitFor { $0.contains { $0.contains("$1") } })
        let rooms = try await scene.matrix("rooms", "--json")
        #expect(rooms.status == 0)
        #expect(rooms.run.objects.map { $0["name"] as? String } == ["Lobby"])
        #expect(rooms.run.errors == [])
        let second = try scene.run(["matrix", "listen", "--json", "--count", "1"])
        #expect(await second.waitFor(isRunning))
        stream.add(MatrixScene.message("$2", "two"))
        #expect(await second.status() == 0)
        #expect(second.objects.compactMap { $0["event_id"] as? String } == ["$2"])
        #expect(await listen.waitFor { $0.contains { $0.contains("$2") } })
        listen.interrupt()
        #expect(await listen.status() == 0)
        #expect(scene.syncTokens.count(where: { $0 == nil }) == 1)
    }

    /// It would take keys that are sent to the first.
    @Test func aSecondListenEndsWhenARoomBecomesEncrypted() async throws {
        let scene = try await MatrixScene()
        let stream = RoomStream(scene.server)
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor(isRunning))
        let second = try scene.run(["matrix", "listen", "--json"])
        #expect(await second.waitFor(isRunning))
        stream.add(
            #"{"type":"m.room.encryption","state_key":"","event_id":"$e","sender":"@bob:hs","#
                + #""content":{"algorithm":"m.megolm.v1.aes-sha2"}}"#)
        #expect(await second.status() == 69)
        #expect(second.errors.contains { $0.contains("listens with this login already") }, "\(second.errors)")
        #expect(await listen.waitFor { $0.contains { $0.contains("$e") } })
        // Even from the start.
        let third = try scene.run(["matrix", "listen", "--json"])
        #expect(await third.status() == 69)
        listen.interrupt()
        #expect(await listen.status() == 0)
    }

    @Test func logoutDeletesWhatIsStored_alsoWhileItIsUsed() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        scene.server.on("POST", "v3/logout", .json("{}"))
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor(isRunning))
        #expect(FileManager.default.fileExists(atPath: scene.database.path))
        #expect(try await scene.matrix("logout").status == 0)
        #expect(!FileManager.default.fileExists(atPath: scene.database.deletingLastPathComponent().path))
        listen.interrupt()
        #expect(await listen.status() == 0)
        #expect(!FileManager.default.fileExists(atPath: scene.database.deletingLastPathComponent().path))
    }

    @Test func storedRoomsAreListedWithoutAHomeserver() async throws {
        let scene = try await MatrixScene()
        let empty = try await scene.matrix("rooms", "--offline")
        #expect(empty.status == 65)
        #expect(
            empty.run.errors
                == ["error: no rooms are stored yet: run pusher-cli matrix rooms without --offline"])
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        #expect(try await scene.matrix("rooms").status == 0)
        await scene.server.stop()
        let stored = try await scene.matrix("rooms", "--offline", "--json")
        #expect(stored.status == 0)
        #expect(stored.run.objects.map { $0["name"] as? String } == ["Lobby"])
    }

    @Test func aStoreThatCannotBeUsedIsDoneWithout() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        // In place of the folder.
        try FileManager.default.createDirectory(at: scene.home, withIntermediateDirectories: true)
        try Data().write(to: scene.data)
        let rooms = try await scene.matrix("rooms")
        #expect(rooms.status == 0)
        #expect(rooms.run.output.first?.contains("Lobby") == true)
        #expect(rooms.run.errors.count == 1)
        #expect(rooms.run.errors.first?.hasPrefix("warning: Could not make ") == true, "\(rooms.run.errors)")
        #expect(rooms.run.errors.first?.hasSuffix("This command does without it, and asks for all rooms.") == true)
        let listen = try scene.run(["matrix", "listen", "--json", "--count", "1"])
        #expect(await listen.waitFor(isRunning))
        scene.bring(MatrixScene.room(timeline: [MatrixScene.message("$1", "hi")]))
        #expect(await listen.status() == 0)
    }

    @Test func aDamagedStoreIsBegunAnew_andOneOfAnotherDeviceToo() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        #expect(try await scene.matrix("rooms").status == 0)
        try Data("no database at all, but long enough for one".utf8).write(to: scene.database)
        let offline = try await scene.matrix("rooms", "--offline")
        #expect(offline.status == 65)
        #expect(
            offline.run.errors.first?.hasPrefix("error: The store of @alice:hs in ") == true, "\(offline.run.errors)")
        let rooms = try await scene.matrix("rooms")
        #expect(rooms.status == 0)
        #expect(rooms.run.output.first?.contains("Lobby") == true)
        #expect(scene.syncTokens == [nil, nil])
        try scene.logIn(device: "OTHER")
        #expect(try await scene.matrix("rooms").status == 0)
        #expect(try await scene.matrix("rooms").status == 0)
        #expect(scene.syncTokens == [nil, nil, nil, "1"])
    }

    @Test func anAliasAndTheEncryptionAreAskedForAtOnce_ifTheRoomIsKnown() async throws {
        let scene = try await MatrixScene()
        let alias =
            ##"{"type":"m.room.canonical_alias","state_key":"","event_id":"$a","sender":"@b:s2","content":{"alias":"#x:hs"}}"##
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [alias]))
        #expect(try await scene.matrix("rooms").status == 0)
        // Each request is answered only after the other one has been sent.
        scene.server.on("GET", "v3/directory/room/*", .json(#"{"room_id":"!r:hs","servers":[]}"#).after(.seconds(1)))
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption", .error(404, "M_NOT_FOUND"))
        let send = try scene.run(["matrix", "send", "#x:hs", "hi"])
        #expect(await scene.server.hasBeenAsked("GET", "v3/rooms/*/state/m.room.encryption"))
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
        #expect(await send.status() == 0)
        let asked = scene.server.requests("GET", "v3/rooms/*/state/m.room.encryption")
        #expect(asked.count == 1)
        // The alias now leads elsewhere. The room in the directory counts, and its encryption is requested.
        scene.server.on("GET", "v3/directory/room/*", .json(#"{"room_id":"!new:hs","servers":[]}"#))
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption") { request in
            request.path.contains("!new:hs")
                ? .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#) : .error(404, "M_NOT_FOUND")
        }
        let moved = try await scene.matrix("send", "#x:hs", "hi")
        #expect(moved.status == 65)
        #expect(moved.run.errors.first?.contains("you are not in !new:hs") == true, "\(moved.run.errors)")
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").count == 1)
    }
}
