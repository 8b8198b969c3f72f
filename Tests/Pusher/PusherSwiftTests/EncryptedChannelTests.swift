import Basics
import PusherMockServer
import PusherProtocol
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct EncryptedChannelTests {
    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private let recorder = Recorder()
    private let name = "private-encrypted-x"

    @Test(arguments: Profile.allCases, [false, true])
    func eventsArriveDecrypted(profile: Profile, overEndpoint: Bool) async throws {
        let app = PusherMockServer.App(encryptionMasterKey: Self.masterKey)
        try await withServer(.init(apps: [app], profile: profile)) { server in
            let pusher = Pusher.make(server, recorder) {
                if overEndpoint {
                    $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                } else {
                    $0.encryptionMasterKey = Self.masterKey
                }
            }
            pusher.subscribe(name).bind(eventName: "e") { [recorder] event in recorder.add("event \(event.data ?? "")")
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed \(name)"))
            await server.publish(event: "e", channel: name, data: "{\"snow\":\"☃\"}")
            #expect(await recorder.waitFor("event {\"snow\":\"☃\"}"))
        }
    }

    /// Returns the current key.
    private final class Authorizer: PusherSwift.Authorizer {
        let key = Lock(ChannelKey([UInt8](repeating: 1, count: 32)))
        let calls = Lock(0)

        func fetchAuthValue(
            socketID: String, channelName: String, completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) {
            calls.withLock { $0 += 1 }
            guard let id = SocketID(socketID), let channel = try? ChannelName(channelName) else {
                return completionHandler(nil)
            }
            let credentials = AppCredentials(
                key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)
            let auth = credentials.channelAuth(socketID: id, channel: channel)
            completionHandler(PusherAuth(auth: auth, sharedSecret: key.withLock { $0?.base64 }))
        }
    }

    @Test(arguments: Profile.allCases) func aKeyThatChangesIsFetchedAnewAndWhatCannotBeReadIsTold(profile: Profile)
        async throws
    {
        let authorizer = Authorizer()
        let (first, second) = (
            ChannelKey([UInt8](repeating: 1, count: 32)), ChannelKey([UInt8](repeating: 2, count: 32))
        )
        // The test encrypts what it publishes.
        let app = PusherMockServer.App(encryptionMasterKey: nil)
        try await withServer(.init(apps: [app], profile: profile)) { server in
            let pusher = Pusher.make(server, recorder) { $0.authMethod = .authorizer(authorizer: authorizer) }
            pusher.subscribe(name).bind(eventName: "e") { [recorder] event in recorder.add("event \(event.data ?? "")")
            }
            pusher.connect()
            #expect(await recorder.waitFor("subscribed \(name)"))
            func publish(_ text: String, _ key: ChannelKey?) async throws {
                let data = try #require(key).encrypt(text)
                await server.publish(event: "e", channel: name, data: data)
            }
            try await publish("one", first)
            #expect(await recorder.waitFor("event one"))
            authorizer.key.withLock { $0 = second }
            try await publish("two", second)
            #expect(await recorder.waitFor("event two"))
            #expect(authorizer.calls.withLock { $0 } == 2)
            await server.publish(event: "e", channel: name, data: "not encrypted")
            try await publish("three", second)
            #expect(await recorder.waitFor("event three"))
            #expect(recorder.contains("undecryptable e \(name) not encrypted"))
            #expect(recorder.count("error channel \(name): event e cannot be decrypted and was dropped") == 1)
            #expect(authorizer.calls.withLock { $0 } == 2)
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    @Test(arguments: Profile.allCases) func withoutAMasterKeyTheInlineMethodSaysSo(profile: Profile) async throws {
        try await withServer(profile) { server in
            let pusher = Pusher.make(server, recorder)
            pusher.subscribe(name)
            pusher.connect()
            #expect(await recorder.waitFor("failed \(name)"))
            #expect(recorder.contains("encryptionMasterKey is not set"))
        }
    }
}
