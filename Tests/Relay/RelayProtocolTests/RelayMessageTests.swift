import Realtime
import Testing

@testable import RelayProtocol

struct RelayMessageTests {
    private func written(_ message: RelayMessage) -> OutgoingMessage {
        message.outgoing(prefix: "ev", messageID: "id", stream: "EVENTS")
    }

    private func readBack(_ outgoing: OutgoingMessage) throws -> RelayMessage {
        try RelayMessage(subject: outgoing.subject, prefix: "ev", payload: outgoing.payload) { name in
            outgoing.headers.first { $0.name == name }?.value
        }
    }

    private func event(_ message: RelayMessage) throws -> RealtimeEvent {
        guard case .event(let event) = message.content else { throw RelayMessage.Malformed.payload }
        return event
    }

    @Test(arguments: [
        ("pusher", "price", "update", "ev.pusher.price.update"),
        ("pusher", "presence-room.1", "client-ev@x", "ev.pusher.presence-room=2E1.client-ev=40x"),
        ("matrix", "matrix:!abc:example.org", "m.room.message", "ev.matrix.=21abc=3Aexample=2Eorg.m=2Eroom=2Emessage"),
        ("pydio", "pydio:host/ws", "node", "ev.pydio.host=2Fws.node"),
        ("matrix", "other", "x", "ev.matrix.other.x"),
        ("pusher", "pusher:odd", "", "ev.pusher.odd.="),
        ("pusher", "", "*", "ev.pusher.=.=2A"),
    ])
    func namesAreInTheSubject(source: String, channel: String, name: String, subject: String) throws {
        let message = RelayMessage(
            .event(RealtimeEvent(name: name, channel: channel, data: "{\"a\":1}", userId: "é u")), source: source,
            author: RelayMessage.Author(unit: "\(source):\(channel)", term: 3, sequence: 7), time: 1234, id: "$e:x")
        let outgoing = written(message)
        #expect(outgoing.subject == subject)
        let read = try readBack(outgoing)
        let event = try event(read)
        #expect(event.eventName == name && event.channelName == channel)
        #expect(event.data == "{\"a\":1}" && event.userId == "é u" && event.origin == .live)
        #expect(read.author == message.author && read.time == 1234 && read.id == "$e:x" && read.source == source)
        #expect(read.slot == Slot(of: "\(source):\(channel)"))
    }

    @Test func aNameThatIsTooLongStandsInAHeader() throws {
        let (channel, name) = (String(repeating: "c", count: 200), String(repeating: "ö", count: 100))
        let outgoing = written(
            RelayMessage(.event(RealtimeEvent(name: name, channel: channel, data: nil)), source: "pusher"))
        #expect(outgoing.subject.utf8.count < 512)
        #expect(Set(outgoing.headers.map(\.name)) == ["Relay-Channel", "Relay-Event"])
        let event = try event(readBack(outgoing))
        #expect(event.eventName == name && event.channelName == channel && event.data == nil)
    }

    @Test(arguments: [EventOrigin.live, .cache, .repeatedCache])
    func whatAServerKeptIsToldAsThat(origin: EventOrigin) throws {
        let message = RelayMessage(
            .event(RealtimeEvent(name: "a", channel: nil, data: "x").withOrigin(origin)), source: "pusher")
        let event = try event(readBack(written(message)))
        #expect(event.origin == origin && event.channelName == nil)
    }

    @Test func fencesAndGapsAreNoEvents() throws {
        let slot = try #require(Slot(9))
        let relay = RelayID(name: "a b", random: 7)
        let fence = written(.fence(slot, term: 4, by: relay))
        #expect(fence.subject == "ev._relay.9.term")
        let read = try readBack(fence)
        #expect(read.slot == slot && read.author?.term == 4)
        #expect(read.fence(sequence: 7) == SlotFence(term: 4, relay: relay, sequence: 7))
        let gap = RelayGap(channel: "price", start: 5, end: 9, reason: "takeover")
        let author = RelayMessage.Author(unit: "pusher:app:price", term: 2)
        let message = try readBack(written(RelayMessage(.gap(gap), source: "pusher", author: author)))
        guard case .gap(gap) = message.content else {
            Issue.record("no gap")
            return
        }
        // An application may use this event name.
        let other = RelayMessage(
            .event(RealtimeEvent(name: RelayGap.eventName, channel: "price", data: "{}")), source: "pusher")
        #expect(try event(readBack(written(other))).eventName == "relay:gap")
    }

    @Test(
        arguments: [
            ("ev.a.b", [:], "", .subject), ("other.a.b.c", [:], "", .subject), ("ev.a.b.c.d", [:], "", .subject),
            ("ev.a.b.=2e", [:], "", .subject), ("ev._relay.1024.term", ["Relay-Term": "1"], "", .subject),
            ("ev._relay.1.term", [:], "", .subject), ("ev.a.b.c", ["Relay-Term": "-1"], "", .header("Relay-Term")),
            ("ev.a.b.c", ["Relay-Unit": "u"], "", .header("Relay-Term")),
            ("ev.a.b.c", ["Relay-User": "%G1"], "", .header("Relay-User")),
            ("ev.a.b.relay=3Agap", ["Relay-Origin": "relay"], "{}", .payload),
        ] as [(String, [String: String], String, RelayMessage.Malformed)])
    func whatCannotBeReadSaysWhy(
        subject: String, headers: [String: String], payload: String, expected: RelayMessage.Malformed
    ) {
        #expect(throws: expected) {
            try RelayMessage(subject: subject, prefix: "ev", payload: Array(payload.utf8)) { headers[$0] }
        }
        #expect(throws: RelayMessage.Malformed.payload) {
            try RelayMessage(subject: "ev.a.b.c", prefix: "ev", payload: [0xFF]) { _ in nil }
        }
    }

    @Test func aMessageOfAnotherClientIsAnEvent() throws {
        let message = try RelayMessage(subject: "ev.mine.c.e", prefix: "ev", payload: Array("hi".utf8)) { _ in nil }
        #expect(try event(message).channelName == "mine:c")
        #expect(message.author == nil && message.slot == nil)
    }

    @Test func idsAreOneLineAndUnambiguous() throws {
        let slot = try #require(Slot(1))
        #expect(MessageID.matrix(account: nil, room: "!r:x", event: "$e") == "matrix/%/!r:x/$e")
        #expect(MessageID.matrix(account: nil, room: "!Nats-Msg-Id", event: "$e") == "matrix/%/!Nats%2DMsg-Id/$e")
        #expect(MessageID.pusher(app: "a b", slot: slot, term: 2, sequence: 3) == "pusher/a%20b/1/2/3")
        #expect(MessageID.pydio(workspace: "w/1", sequence: 3) == "pydio/w%2F1/3")
        #expect(MessageID.pydio(workspace: "w", sequence: 13) != MessageID.pydio(workspace: "w/1", sequence: 3))
        #expect(!MessageID.cursor(unit: "u", token: "s3cret").contains("s3cret"))
        let long = MessageID.matrix(account: nil, room: String(repeating: "r", count: 300), event: "$e")
        #expect(long.utf8.count < 60 && long.hasPrefix("matrix/~"))
        #expect(long != MessageID.matrix(account: nil, room: String(repeating: "r", count: 300), event: "$f"))
    }
}
