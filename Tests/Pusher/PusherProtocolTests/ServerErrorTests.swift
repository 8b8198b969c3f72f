import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing

/// `pusher:error` is reported and also reaches bindings, as in version 5.
struct ServerErrorTests {
    private func events(_ client: inout ClientScript) -> [(event: RealtimeEvent, channel: EventRouter.ChannelID?)] {
        client.machine.takeNotices().flatMap { notice -> [(RealtimeEvent, EventRouter.ChannelID?)] in
            guard case .events(let batch) = notice else { return [] }
            return batch.map { ($0, $1) }
        }
    }

    @Test(
        .regression("pusher:error never reached a binding."),
        arguments: [
            #"{"code":null,"message":"m"}"#, #"{"code":4301,"message":"m"}"#, #"{"message":"m"}"#,
            #""{\"code\":4200,\"message\":\"m\"}""#, "7", "null",
        ])
    func anErrorOfTheConnectionReachesGlobalBindings(data: String) throws {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":\#(data)}"#)
        let told = events(&client)
        #expect(told.count == 1 && told.first?.event.eventName == "pusher:error" && told.first?.channel == nil)
        let text = JSONView(Array(data.utf8)).flatMap { $0.isNull ? nil : $0.string ?? $0.compactText }
        #expect(told.first?.event.data == text)
    }

    @Test(.regression("pusher:error never reached a binding."))
    func anErrorOfAChannelReachesItsBindings() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("x")
        client.succeed("x")
        _ = client.take()
        client.receive(#"{"event":"pusher:error","channel":"x","data":{"code":4301,"message":"slow"}}"#)
        let told = events(&client)
        #expect(told.map(\.channel) == [id])
        #expect(told.first?.event.channelName == "x")

        client.receive(#"{"event":"pusher:error","channel":"other","data":{"code":4301,"message":"slow"}}"#)
        let elsewhere = events(&client)
        #expect(elsewhere.map(\.channel) == [nil])
        #expect(elsewhere.first?.event.channelName == "other")
    }

    /// The most common error arrives instead of the handshake.
    @Test func anErrorBeforeTheHandshakeReachesGlobalBindings() {
        for code in ["4001", "null"] {
            var client = ClientScript()
            client.machine.connect(now: client.now)
            _ = client.take()
            client.receive(#"{"event":"pusher:error","data":{"code":\#(code),"message":"no such app"}}"#)
            #expect(events(&client).map(\.event.eventName) == ["pusher:error"])
        }
    }

    @Test func theEventComesBeforeItsReport() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":null,"message":"slow"}}"#)
        #expect(
            client.take() == [
                #"event pusher:error {"code":null,"message":"slow"}"#, "error the server reports: slow",
            ])
    }

    /// Servers quote the text that they expected to be signed, and the signature they received.
    @Test(arguments: [false, true])
    func bindingsDoNotGetWhatWasToBeSigned(isText: Bool) {
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of 1.1:private-x:secret, but got signature"
        let data = #"{"code":null,"message":"\#(message)"}"#
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":\#(isText ? JSONString.quoted(data) : data)}"#)
        let event = events(&client).first?.event
        #expect(event?.data == #"{"code":null,"message":"Invalid signature"}"#)
        #expect(event?.frame == nil, "the frame holds it too")
    }
}
