import Foundation
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands
@testable import MatrixProtocol
@testable import PusherCommands

/// Rooms referred to by a name, an alias or a part of one.
struct RoomNameTests {
    private static func room(_ id: String, _ name: String, alias: String? = nil) -> MXRoomSummary {
        var summary = MXRoomSummary(roomId: id)
        (summary.displayName, summary.canonicalAlias, summary.membership) = (name, alias, .join)
        return summary
    }

    private static let rooms = [
        room("!a", "Ops"), room("!b", "Ops alerts", alias: "#pager:hs"), room("!c", "The lobby", alias: "#lobby:hs"),
        room("!d", "Straße"), room("!e", "the LOBBY, too"), room("!f", "ops"),
    ]

    @Test(
        arguments: [
            ("Ops", "!a"), ("ops", "!f"), ("OPS ALERTS", "!b"), ("alerts", "!b"), ("ALERT", "!b"), ("pager", "!b"),
            ("#PAGER", "!b"), ("#lobby", "!c"), ("The lobby", "!c"), ("THE LOBBY", "!c"), ("lobby,", "!e"),
            ("straße", "!d"), ("too", "!e"),
        ] as [(String, String)])
    func aWholeNameComesBeforeAPart_andCaseDoesNotMatter(text: String, id: String) throws {
        #expect(try RoomReference.named(text, among: Self.rooms).roomId == id)
    }

    @Test func aPartOfTwoNamesIsAnErrorThatListsThem() {
        #expect {
            try RoomReference.named("lobby", among: Self.rooms)
        } throws: { error in
            (error as? CommandFailure)?.exitStatus == .badData
                && "\(error)" == "2 rooms match “lobby”; give an id: !c (The lobby), !e (the LOBBY, too)"
        }
    }

    @Test func atMostTenAreListed() {
        let rooms = (10..<35).map { Self.room("!\($0)", "Team \($0)") }
        #expect {
            try RoomReference.named("team", among: rooms)
        } throws: { error in
            let text = "\(error)"
            return text.hasPrefix("25 rooms match “team”; give an id: !10 (Team 10), !11 (Team 11), ")
                && text.hasSuffix("!19 (Team 19), and 15 more")
        }
    }

    @Test func aLongNameIsCut() {
        let rooms = ["1", "2"].map { Self.room("!\($0)", String(repeating: "x", count: 500)) }
        #expect {
            try RoomReference.named("xx", among: rooms)
        } throws: { "\($0)".count < 250 }
    }

    @Test(arguments: ["nowhere", "Opsalerts", "!x", "#lobby:other"])
    func whatIsNoPartOfAnythingIsNotFound(text: String) {
        #expect {
            try RoomReference.named(text, among: Self.rooms)
        } throws: { "\($0)" == "there is no room “\(text)”: pusher-cli matrix rooms lists them" }
    }

    @Test func onlyACompleteAliasIsAskedFor() {
        #expect(
            RoomReference("#lobby:hs").isAlias && !RoomReference("#lobby").isAlias && !RoomReference("lobby").isAlias)
    }
}

/// Commands with such references, and their requests to the homeserver.
@Suite(.overSockets)
struct RoomReferenceTests {
    private static let rooms = #"""
        ,"rooms":{"join":{"!l:hs":{"state":{"events":[
        {"type":"m.room.name","state_key":"","event_id":"$n","sender":"@bob:hs","content":{"name":"The lobby"}}]}},
        "!o:hs":{"state":{"events":[
        {"type":"m.room.name","state_key":"","event_id":"$o","sender":"@bob:hs","content":{"name":"Ops\u001b[2J alerts"}},
        {"type":"m.room.canonical_alias","state_key":"","event_id":"$c","sender":"@bob:hs","content":{"alias":"#pager:hs"}}
        ]}},"!p:hs":{"state":{"events":[
        {"type":"m.room.name","state_key":"","event_id":"$p","sender":"@bob:hs","content":{"name":"Ops planning"}}]}}}}
        """#

    @Test func aPartOfANameOrAnAliasNamesARoom_forOneSmallRequest() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.rooms)
        #expect(try await scene.matrix("rooms").status == 0)
        let before = scene.server.requests.count
        for part in ["LOB", "#pager", "plan"] {
            #expect(try await scene.matrix("send", part, "hi").status == 0)
        }
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").map { $0.path[4] } == ["!l:hs", "!o:hs", "!p:hs"])
        // Each time a sync, the room's encryption, and the message.
        #expect(scene.server.requests.count - before == 9)
        #expect(scene.syncTokens.count(where: { $0 == nil }) == 1)
        #expect(scene.server.requests("GET", "v3/directory/room/*").isEmpty)
    }

    @Test(arguments: [["send", "ops", "x"], ["leave", "ops"], ["messages", "ops"], ["receipts", "ops"]])
    func aPartThatFitsTwoRoomsIsStatus65_andNothingIsDone(arguments: [String]) async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.rooms)
        let run = try scene.run(["matrix"] + arguments)
        #expect(await run.status() == 65)
        #expect(run.output == [])
        #expect(
            run.errors.count == 1 && run.errors.first?.hasPrefix("error: 2 rooms match “ops”; give an id: ") == true)
        #expect(run.words.contains("!o:hs") && run.words.contains("!p:hs (Ops planning)"))
        #expect(!run.words.contains("\u{1B}"))
        #expect(scene.server.requests.allSatisfy { $0.path.last == "sync" })
    }

    @Test func listeningFindsARoomByAPartOfItsName() async throws {
        let scene = try await MatrixScene()
        scene.syncsBegin(Self.rooms)
        let run = try scene.run(["matrix", "listen", "--room", "lob", "--json", "--count", "1"])
        #expect(await run.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        scene.bring(MatrixScene.room("!p:hs", timeline: [MatrixScene.message("$1", "no")]))
        scene.bring(MatrixScene.room("!l:hs", timeline: [MatrixScene.message("$2", "yes")]))
        #expect(await run.status() == 0)
        #expect(run.objects.compactMap { $0["event_id"] as? String } == ["$2"])
    }

    // MARK: Aliases

    /// - Parameter sender: The user who claims that the room has the alias.
    private func scene(_ content: String, sender: String = "@b:hs") async throws -> MatrixScene {
        let scene = try await MatrixScene()
        let alias =
            ##"{"type":"m.room.canonical_alias","state_key":"","event_id":"$a","sender":"\##(sender)","content":\##(content)}"##
        scene.syncsBegin(MatrixScene.room(name: "Lobby", timeline: [alias]))
        #expect(try await scene.matrix("rooms").status == 0)
        return scene
    }

    @Test(arguments: [##"{"alias":"#x:hs"}"##, ##"{"alias":"#other:hs","alt_aliases":["#y:hs","#x:hs"]}"##])
    func aStoredAliasNeedsNoLookup_ifItsOwnServerGaveItToTheRoom(content: String) async throws {
        let scene = try await scene(content)
        let before = scene.server.requests.count
        #expect(try await scene.matrix("send", "#x:hs", "hi").status == 0)
        let asked = scene.server.requests.dropFirst(before)
        #expect(asked.map(\.method) == ["GET", "PUT"], "\(asked.map(\.rawPath))")
        #expect(asked.first?.path.contains("m.room.encryption") == true)
        #expect(asked.last?.path[4] == "!r:hs")
        // A room that has become encrypted meanwhile gets no unencrypted messages.
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption", .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#))
        #expect(try await scene.matrix("send", "#x:hs", "hi").status != 0)
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").count == 1)
    }

    @Test func anAliasThatAnotherServersUserClaimsIsLookedUp() async throws {
        let scene = try await scene(##"{"alias":"#x:hs"}"##, sender: "@mallory:evil")
        scene.server.on("GET", "v3/directory/room/*", .json(#"{"room_id":"!true:hs","servers":[]}"#))
        #expect(try await scene.matrix("send", "#x:hs", "secret").status == 0)
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").map { $0.path[4] } == ["!true:hs"])
    }
}
