import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Frames recognised by their beginning are read like all others.
struct EventHeadsTests {
    private static let names = ["a", "b", "room-17", "room-18", "private-x"]

    private func connected() throws -> ClientScript {
        var client = ClientScript.connected()
        for name in Self.names {
            _ = try client.subscribe(name)
            client.answer(name)
            client.succeed(name)
        }
        _ = client.take()
        return client
    }

    private func tick(_ channel: String, _ data: String) -> String {
        #"{"event":"tick","channel":"\#(channel)","data":"\#(data)"}"#
    }

    @Test func channelsInTurn() throws {
        var client = try connected()
        for round in 1...3 {
            client.receive(Self.names.map { tick($0, "\(round)") })
            #expect(client.take() == Self.names.map { "event tick \($0) \(round)" })
        }
    }

    /// From the third in a row on, the name and channel need not be searched for.
    @Test func whatBeginsLikeTheOneBeforeIsRecognised() throws {
        var client = try connected()
        client.receive((1...5).map { tick("a", "\($0)") })
        var likeTheLast: [Bool] = []
        for case .events(let batch) in client.machine.takeNotices() {
            batch.forEach { _, _, isLikeTheLast in likeTheLast.append(isLikeTheLast) }
        }
        #expect(likeTheLast == [false, false, false, true, true])
    }

    @Test(arguments: [
        #"{"event":"tick","channel":"b","data":{"v":1}}"#, #"{"event":"tick","channel":"b","data":"1","user_id":"u"}"#,
        #"{"event":"tick","channel":"b","user_id":"u","data":"1"}"#, #"{"event":"tick","channel":"b"}"#,
        #"{"event":"tick","channel":"b","data":"\"quoted\""}"#, #"{"event":"tick","channel":"b\\u0062","data":"1"}"#,
        #"{"event":"tick","channel":"b\\"","data":"1"}"#, #"{"event":"tick","channel":"unknown","data":"1"}"#,
        #"{"event":"tick","channel":"b"#, #"{"event":"tick","channel":""#, #"{"event":"tick","channel":"","data":"1"}"#,
        #"{"event":"tick","channel":1,"data":"1"}"#, #"{"event":"tock","channel":"b","data":"1"}"#,
        #"{"event":"tick","data":"1"}"#, #"{"channel":"b","event":"tick","data":"1"}"#,
    ])
    func oneThatOnlyBeginsAlike(frame: String) throws {
        var alone = try connected()
        alone.receive(frame)
        let expected = alone.take()
        var client = try connected()
        for _ in 1...2 { client.receive(Self.names.map { tick($0, "0") }) }
        _ = client.take()
        client.receive(tick("a", "1"), frame, tick("b", "2"), tick("a", "3"))
        #expect(client.take() == ["event tick a 1"] + expected + ["event tick b 2", "event tick a 3"])
    }

    @Test func aChannelThatIsSubscribedAgainIsAnotherOne() throws {
        var client = try connected()
        let old = try client.subscribe("b")
        for _ in 1...2 { client.receive(tick("a", "0"), tick("b", "0")) }
        #expect(channels(of: client.machine.takeNotices()).contains(old))
        client.unsubscribe("b")
        client.receive(tick("a", "1"), tick("b", "1"), tick("a", "2"))
        #expect(!channels(of: client.machine.takeNotices()).contains(old))
        let new = try client.subscribe("b")
        client.succeed("b")
        for _ in 1...2 { client.receive(tick("a", "3"), tick("b", "3")) }
        let found = channels(of: client.machine.takeNotices())
        #expect(found.contains(new) && !found.contains(old))
    }

    private func channels(of notices: [ClientMachine.Notice]) -> [EventRouter.ChannelID?] {
        notices.flatMap { notice -> [EventRouter.ChannelID?] in
            if case .events(let batch) = notice { batch.map(\.channel) } else { [] }
        }
    }
}
