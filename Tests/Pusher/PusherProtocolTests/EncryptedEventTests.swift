import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// Events of encrypted channels that cannot be decrypted yet, or never.
struct EncryptedEventTests {
    private let name = "private-encrypted-x"
    private let oldKey = ChannelKey([UInt8](repeating: 1, count: 32))
    private let newKey = ChannelKey([UInt8](repeating: 2, count: 32))

    private func frame(_ text: String, _ key: ChannelKey?, channel: String? = nil) throws -> String {
        let data = try #require(key).encrypt(text)
        return #"{"event":"e","channel":"\#(channel ?? name)","data":\#(JSONString.quoted(data))}"#
    }

    /// Returns a client subscribed to `channels` with the old key, with nothing left to take.
    private func makeSubscribed(_ channels: String...) throws -> ClientScript {
        var client = ClientScript.connected()
        for channel in channels {
            _ = try client.subscribe(channel, auth: AuthAnswer(auth: "k:s", sharedSecret: oldKey?.base64))
            client.succeed(channel)
        }
        _ = client.take()
        return client
    }

    @Test(.regression("Plaintexts of some lengths were not decrypted."))
    func plaintextsOfEveryLengthAreRead() throws {
        var client = try makeSubscribed(name)
        for length in Array(0...300) + [10_240] {
            let text = String(repeating: "x", count: length)
            client.receive(try frame(text, oldKey))
            guard case .events(let batch)? = client.machine.takeNotices().first, let event = batch.first?.event else {
                Issue.record("nothing of length \(length)")
                continue
            }
            #expect(event.data == text)
        }
        #expect(client.take() == [])
    }

    @Test(.regression("Each event that could not be decrypted asked for a key."))
    func anEventAsksForANewerKeyOnce() throws {
        var client = try makeSubscribed(name)
        client.receive(try frame("1", newKey))
        #expect(client.take() == ["authorize \(name) 1.1"])
        client.answer(name, .success(AuthAnswer(auth: "k:s", sharedSecret: oldKey?.base64)))
        let told = client.take()
        #expect(told.count == 2 && told[0].hasPrefix("undecryptable e"))
        client.pass(.seconds(60))
        #expect(client.take() == [])
        client.receive(try frame("2", newKey))  // another event needs its own request
        #expect(client.take() == ["authorize \(name) 1.1"])
        client.answer(name, .success(AuthAnswer(auth: "k:s", sharedSecret: newKey?.base64)))
        client.receive(try frame("3", newKey))
        #expect(client.take() == ["event e \(name) 2", "event e \(name) 3"])
    }

    @Test(.regression("A channel without its key held up the others."))
    func aFailingChannelDoesNotAffectOthers() throws {
        let other = "private-encrypted-y"
        var client = try makeSubscribed(name, other, "c")
        client.receive(try frame("1", newKey))
        _ = client.take()
        let plain = #"{"event":"e","channel":"c","data":"3"}"#
        client.receive(try frame("2", oldKey, channel: other), plain)
        #expect(client.take() == ["event e \(other) 2", "event e c 3"])  // during the key request
        client.answer(name, .failure(AuthFailure("the auth endpoint answered 500")))
        #expect(client.take().first?.hasPrefix("undecryptable e") == true)
        client.receive(try frame("4", newKey), try frame("5", oldKey, channel: other), plain)
        #expect(
            client.take() == ["authorize \(name) 1.1", "event e \(other) 5", "event e c 3"])
        #expect(client.machine.connectionState == .connected)
    }
}
