import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// `kill -9` in the middle of encrypted traffic, KILLS times (default 20).
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(15)))
struct KilledCommandTests {
    private static let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap(Int.init) ?? 20

    @Test func nothingIsLost_andNoIndexOfARatchetIsUsedTwice() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await CommandUser("ann", on: homeserver)
        let nio = try await EncryptedPeer("nio", on: homeserver)
        let room = try #require(try await nio.perform("create", "Mill", ann.user.id)["room_id"])
        #expect(try await ann.output("join", room) == [room])
        _ = try #require(try await ann.output("send", room, "first").first)
        let theirs = try await said(to: ann, in: room) { try await nio.send($0, to: room) }
        for id in try await sent(by: ann, in: room, homeserver) { #expect(await nio.reads(id)) }
        try await expect(ann, reads: theirs, in: room)
    }

    /// Each message uses its own session, whose key is sent over a channel between the devices. The peer drops a
    /// message whose index in that channel it has already seen.
    @Test func amongOursNothingIsLost_andNoIndexOfAChannelIsUsedTwice() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await CommandUser("ann", on: homeserver)
        let bob = try await EncryptedUser("bob", on: homeserver)
        let parameters = MXRoomCreationParameters()
        parameters.inviteArray = [ann.user.id]
        let id = try await bob.session.matrixRestClient.createRoom(parameters: parameters)
        _ = try await bob.session.matrixRestClient.sendStateEvent(
            toRoom: id, eventType: .roomEncryption,
            content: ["algorithm": "m.megolm.v1.aes-sha2", "rotation_period_msgs": 1])
        let room = try await bob.room(id)
        #expect(await eventually { room.summary.isEncrypted })
        #expect(try await ann.output("join", id) == [id])
        _ = try #require(try await ann.output("send", id, "first").first)
        let theirs = try await said(to: ann, in: id) { text in
            try await room.sendTextMessage(text)
        }
        let ours = try await sent(by: ann, in: id, homeserver)
        for id in ours { #expect(await eventually { bob.event(id)?.isDecrypted == true }) }
        var sessions: Set<String> = []
        for id in ours { sessions.insert(try await bob.megolmSession(of: id)) }
        #expect(sessions.count > ours.count / 2)
        let dropped = bob.log.all.filter { $0.contains("a message to this device was dropped") }
        #expect(dropped.isEmpty, "\(dropped)")
        try await expect(ann, reads: theirs, in: id)
    }

    /// Kills commands while the peer sends messages.
    ///
    /// - Parameter say: Sends a message of the peer and returns its ID.
    /// - Returns: The sent texts by message ID.
    private func said(
        to ann: CommandUser, in room: String, by say: @escaping @Sendable (String) async throws -> String
    ) async throws -> [String: String] {
        var theirs: [String: String] = [:]
        for number in 0..<Self.kills {
            let program =
                number % 2 == 0
                ? ann.command("send", room, "ann \(number)") : ann.command("listen", "--room", room, "--json")
            try program.start()
            async let sent = say("peer \(number)")
            // The test varies only this moment.
            try await Task.sleep(for: .milliseconds(.random(in: 0..<500)))
            program.kill()
            _ = try await program.end()
            theirs[try await sent] = "peer \(number)"
        }
        _ = try #require(try await ann.output("send", room, "last").first)
        return theirs
    }

    /// Returns the IDs of our messages that arrived, each exactly once.
    private func sent(by ann: CommandUser, in room: String, _ homeserver: Homeserver) async throws -> [String] {
        let client = MXRestClient(homeServer: try #require(URL(string: homeserver.url)), options: .direct)
        _ = try await client.login(username: ann.user.name, password: ann.user.password)
        var ours: [MXEvent] = []
        var token: String?
        repeat {
            let page = try await client.messages(forRoom: room, from: token, limit: 100)
            ours += page.chunk.filter { $0.wireType == "m.room.encrypted" && $0.sender == ann.user.id }
            token = page.end
        } while token != nil
        #expect(ours.count >= 2)
        var used: [String: String] = [:]
        for event in ours {
            let place = try #require(event.megolmPlace)
            #expect(used.updateValue(event.eventId, forKey: place) == nil, "index \(place) twice")
        }
        return ours.map(\.eventId)
    }

    /// Expects that the peer's messages that arrived are readable here.
    private func expect(_ ann: CommandUser, reads theirs: [String: String], in room: String) async throws {
        let lines = try await ann.output("messages", room, "--limit", "\(3 * Self.kills + 20)", "--json")
        for (id, text) in theirs {
            #expect(lines.contains { $0.contains(id) && $0.contains("\"\(text)\"") }, "\(text)")
        }
    }
}
