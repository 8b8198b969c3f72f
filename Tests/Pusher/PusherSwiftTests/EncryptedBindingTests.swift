import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// Bindings to encrypted channels.
struct EncryptedBindingTests {
    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private let name = "private-encrypted-x"

    private struct Price: Codable {
        let amount: Int
    }

    @Test(.overSockets, .regression("What a binding could not decode was swallowed."))
    func errorsOfHandlersAreNotSwallowed() async throws {
        let recorder = Recorder()
        try await withServer(.init(apps: [.init(encryptionMasterKey: Self.masterKey)])) { server in
            let pusher = Pusher.make(server, recorder) { $0.encryptionMasterKey = Self.masterKey }
            pusher.subscribe(name).bind("e", as: Price.self) { recorder.add("price \($0.amount)") }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed \(name)"))
            for data in [#"{"amount":1}"#, #"{"amount":"much"}"#, "plain", #"{"amount":2}"#] {
                await server.publish(event: "e", channel: name, data: data)
            }
            #expect(await recorder.waitFor("price 2"))
            #expect(recorder.contains("price 1"))
            #expect(await recorder.waitFor("error channel \(name): event e cannot be decoded", count: 2))
            #expect(recorder.contains("amount"))
            #expect(!recorder.contains("much"))
        }
    }
}
