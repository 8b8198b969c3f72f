import Basics
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// Reports about a reader that stops receiving.
struct ReadingHoldTests {
    private let reader = EventReader(.sequence, eventName: "price", channelName: "c")
    private let callback = EventReader(.callback, eventName: "price", channelName: "c")

    @Test func aHoldIsToldOnce_afterTheActivityTimeout_andItsEndAsWell() {
        var client = ClientScript.connected { $0.connection.activityTimeout = .seconds(40) }
        client.hold(reader)
        #expect(client.machine.nextDeadline == client.now + .seconds(40))
        client.pass(.seconds(39))
        #expect(client.take() == ["pause"])
        client.pass(.seconds(1))
        #expect(
            client.take() == [
                "held channel c: nothing is received: a sequence of “price” is full, and has not been read for 40 s"
            ])
        client.pass(.seconds(1000))
        #expect(client.take() == [])
        client.release(reader)
        #expect(
            client.take() == [
                "resume",
                "resumed after 1040.0 s channel c: "
                    + "a sequence of “price”, which stopped receiving for 1040 s, is read again or has ended",
            ])
    }

    @Test func aShortHoldIsNotTold() {
        var client = ClientScript.connected()
        client.hold(reader)
        client.pass(.seconds(119))
        client.release(reader)
        client.pass(.seconds(1))
        #expect(client.take() == ["pause", "resume"])
    }

    @Test func eachReaderIsToldByItself() {
        var client = ClientScript.connected()
        client.hold(callback)
        client.pass(.seconds(60))
        client.hold(reader)
        client.pass(.seconds(60))
        #expect(
            client.take() == [
                "pause",
                "held channel c: "
                    + "nothing is received: too many events wait for a callback of “price”, and have for 120 s",
            ])
        client.release(callback)
        #expect(client.take().map { $0.prefix(7) } == ["resumed"])
        client.pass(.seconds(60))
        #expect(client.take().map { $0.prefix(5) } == ["held "])
        client.release(reader)
        #expect(client.take().map { $0.prefix(7) } == ["resume", "resumed"])
    }

    /// Two threads report them.
    @Test func aReleaseThatComesBeforeItsHoldTakesItBack() {
        var client = ClientScript.connected()
        client.release(reader)
        client.hold(reader)
        #expect(client.take() == [])
        client.pass(.seconds(119))
        #expect(client.take() == [])
        client.hold(reader)
        #expect(client.take() == ["pause"])
    }

    @Test func withoutAConnectionItIsToldAsWell() {
        var client = ClientScript()
        client.hold(reader)
        client.pass(.seconds(120))
        #expect(client.take().map { $0.prefix(5) } == ["held "])
    }

    @Test func aClientThatIsGoneTellsNothing() {
        var client = ClientScript.connected()
        client.hold(reader)
        client.pass(.seconds(120))
        _ = client.take()
        client.machine.shutDown(now: client.now)
        _ = client.take()
        client.release(reader)
        client.hold(callback)
        client.pass(.seconds(1000))
        #expect(client.take() == [])
    }
}
