import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// Long exchanges with matrix-nio: restarts, exhausted keys, lost channels.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct EncryptedTrafficTests {
    private let homeserver: Homeserver
    private let ann: EncryptedUser
    private let nio: EncryptedPeer
    private let roomId: String

    init() async throws {
        homeserver = try Homeserver(.plain)
        ann = try await EncryptedUser("ann", on: homeserver)
        nio = try await EncryptedPeer("nio", on: homeserver)
        roomId = try await ann.makeRoom(inviting: nio.user.id).roomId
        try await nio.perform("join", roomId)
    }

    /// Sends one message each way.
    ///
    /// - Returns: The places of the messages in their Megolm sessions.
    private func exchange(_ text: String) async throws -> [String] {
        let ours = try await ann.room(roomId).sendTextMessage("ours \(text)")
        #expect(await nio.hears(ours, "ours \(text)"))
        let theirs = try await nio.send("nio \(text)", to: roomId)
        #expect(await ann.hears(theirs, "nio \(text)"))
        #expect(await ann.hears(ours, "ours \(text)"))
        return try [ours, theirs].map { try #require(ann.event($0)?.megolmPlace) }
    }

    @Test func restartsBetweenMessagesOpenNoChannel_andUseNoIndexTwice() async throws {
        var places = try await exchange("first")
        let channels = try await nio.channels()
        for step in 0..<3 {
            try await ann.restart()
            places += try await exchange("\(step), after ours")
            try await nio.restart()
            places += try await exchange("\(step), after theirs")
            try ann.stop()
            try await nio.restart()
            try await ann.start()
            places += try await exchange("\(step), after both")
        }
        #expect(Set(places).count == places.count && places.count == 20)
        #expect(try await nio.channels() == channels)
    }

    @Test func whenAllOneTimeKeysAreUsedTheFallbackKeyServes_andIsReplaced() async throws {
        _ = try await exchange("first")
        try ann.stop()
        var opened: [String] = []
        for first in stride(from: 0, to: 51, by: 17) {
            let events = try #require(try await nio.perform("openers", "\(first)", "17", roomId)["events"])
            opened += events.split(separator: " ").map(String.init)
        }
        let device = try ann.deviceId
        let used = try await nio.perform("claim", ann.user.id, device, "1")
        #expect(used["one_time"] == "")
        let fallback = try #require(used["fallback"])
        try await ann.start()
        // The first ones are in the gap of the next sync.
        let room = try await ann.room(roomId)
        for (number, id) in opened.enumerated() {
            let isRead = await eventually {
                (try? await room.event(withId: id).contentJSON["body"]?.string) == "opener \(number)"
            }
            #expect(isRead, "\(number)")
        }
        // New keys have been uploaded.
        let isReplaced = await eventually {
            guard let given = try? await nio.perform("claim", ann.user.id, device, "51"),
                let last = given["fallback"]?.split(separator: " ").last
            else { return false }
            return last != fallback
        }
        #expect(isReplaced)
    }

    @Test func aPeerThatHasLostItsChannelsIsReadAgainAfterOneExchange() async throws {
        _ = try await exchange("first")
        try await nio.perform("forget-channels")
        try await nio.restart()
        let crypto = try #require(try ann.session.crypto)
        try crypto.discardOutboundGroupSessionForRoom(withRoomId: roomId)
        // Its key comes over the channel that nio has lost.
        let lost = try await ann.room(roomId).sendTextMessage("lost")
        #expect(await nio.failsToRead(lost))
        _ = try await nio.send("nio, by a new channel", to: roomId)
        // Over a new channel, nio reports that it could not decrypt it.
        let isFound = await eventually {
            guard (try? crypto.discardOutboundGroupSessionForRoom(withRoomId: self.roomId)) != nil,
                let next = try? await self.ann.room(self.roomId).sendTextMessage("found")
            else { return false }
            return await self.nio.hears(next, "found", within: .seconds(3))
        }
        #expect(isFound)
        _ = try await exchange("after that")
    }

    @Test func theHundredAndFirstMessageGoesByAnotherSession_bothWays() async throws {
        let room = try await ann.room(roomId)
        var (ours, theirs): ([String], [String]) = ([], [])
        for number in 0..<101 {
            ours.append(try await room.sendTextMessage("ours \(number)"))
            theirs.append(try await nio.send("nio \(number)", to: roomId))
        }
        #expect(await nio.hears(ours[100], "ours 100"))
        #expect(await ann.hears(theirs[100], "nio 100"))
        for ids in [ours, theirs] {
            let first = try await ann.megolmSession(of: ids[0])
            #expect(try await ann.megolmSession(of: ids[99]) == first)
            #expect(try await ann.megolmSession(of: ids[100]) != first)
        }
        for (number, id) in theirs.enumerated() { #expect(await ann.hears(id, "nio \(number)")) }
        for (number, id) in ours.enumerated() { #expect(await nio.hears(id, "ours \(number)")) }
    }

    @Test func editsRepliesReactionsThreadsAndRedactionsGoBothWays() async throws {
        let room = try await ann.room(roomId)
        let first = try await nio.send("teh mill", to: roomId)
        #expect(await ann.hears(first, "teh mill"))
        let event = try #require(ann.event(first))

        // The peer's events: their relations are outside of the encrypted content.
        let edit = """
            {"msgtype":"m.text","body":"* the mill","m.new_content":{"msgtype":"m.text","body":"the mill"},\
            "m.relates_to":{"rel_type":"m.replace","event_id":"\(first)"}}
            """
        let edited = try #require(try await nio.perform("event", roomId, "m.room.message", edit)["event_id"])
        #expect(await ann.hears(edited, "* the mill"))
        #expect(await eventually { room.edited(event).contentJSON["body"]?.string == "the mill" })
        let reaction = #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"\#(first)","key":"👍"}}"#
        try await nio.perform("event", roomId, "m.reaction", reaction)
        #expect(await eventually { room.aggregations(forEvent: first)?.reactions?["👍"]?.count == 1 })
        let inThread = """
            {"msgtype":"m.text","body":"aside","m.relates_to":{"rel_type":"m.thread","event_id":"\(first)"}}
            """
        let aside = try #require(try await nio.perform("event", roomId, "m.room.message", inThread)["event_id"])
        #expect(await ann.hears(aside, "aside"))
        #expect(ann.event(aside)?.contentJSON["m.relates_to"]?["rel_type"]?.string == "m.thread")

        // Our events.
        let reply = try await room.sendReply(to: event, text: "which one?")
        #expect(await nio.hears(reply) { ($0["body"] as? String)?.hasSuffix("which one?") == true })
        #expect(await ann.hears(reply, "which one?"))
        let correction = try await room.editMessage(reply, markdown: "which mill?")
        #expect(
            await nio.hears(correction) {
                ($0["m.new_content"] as? [String: Any])?["body"] as? String == "which mill?"
                    && ($0["m.relates_to"] as? [String: Any])?["event_id"] as? String == reply
            })
        try await room.react("🌾", toEvent: aside)
        let answer = try await room.sendTextMessage("aside, too", threadId: first)
        #expect(
            await nio.hears(answer) {
                $0["body"] as? String == "aside, too"
                    && ($0["m.relates_to"] as? [String: Any])?["rel_type"] as? String == "m.thread"
            })
        try await room.redactEvent(answer)
        #expect(await nio.hearsRedaction(of: answer))

        // A redacted event has no text left, and does not count as undecryptable.
        try await nio.perform("redact", roomId, aside)
        let isRedacted = await eventually {
            guard let stored = try? room.storedMessages().first(where: { $0.eventId == aside }) else { return false }
            return stored.isRedacted && stored.decryptionError == nil && stored.contentJSON["body"] == nil
        }
        #expect(isRedacted)
    }
}
