import Basics
import CurlTransport
import Foundation
import PusherHTTP
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing
import Transport

/// A client with a pinned key connects only to the server with that key.
@Suite(.overSockets, .enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
struct PinTests {
    /// Other flaws of a certificate.
    enum Flaw: CaseIterable {
        case selfSigned, expired, wrongHost, unknownAuthority
    }

    private let authority: CertificateAuthority
    private let recorder = Recorder()

    init() async throws {
        authority = try await CertificateAuthority()
    }

    private func leaf(_ flaw: Flaw = .selfSigned) async throws -> CertificateAuthority.Leaf {
        switch flaw {
        case .selfSigned: try await authority.makeSelfSigned("IP:127.0.0.1")
        case .expired: try await authority.issue("IP:127.0.0.1", days: -1)
        case .wrongHost: try await authority.issue("DNS:other.example")
        case .unknownAuthority: try await authority.issue("IP:127.0.0.1")
        }
    }

    private static let wrongPin = PublicKeyPin(sha256: [UInt8](repeating: 7, count: 32))

    private func configuration(_ leaf: CertificateAuthority.Leaf) -> PusherMockServer.Configuration {
        .init(tls: .init(certificatePath: leaf.certificate, privateKeyPath: leaf.privateKey))
    }

    private func connect(
        port: Int, pin: PublicKeyPin?, _ change: (inout PusherClientOptions) -> Void = { _ in }
    ) -> Pusher {
        var options = PusherClientOptions(
            authMethod: .inline(secret: PusherMockServer.App.defaultSecret), host: .host("127.0.0.1"), port: port)
        options.proxy = ""
        options.pinnedKey = pin
        options.reconnectPolicy = .exponential(base: .milliseconds(20), maximumDelay: .milliseconds(100))
        change(&options)
        let pusher = Pusher(key: PusherMockServer.App.defaultKey, options: options)
        pusher.delegate = recorder
        pusher.connect()
        return pusher
    }

    private func api(port: Int, pin: PublicKeyPin?, caFile: String? = nil) -> PusherHTTPClient {
        PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: PusherMockServer.App.defaultKey,
            secret: PusherMockServer.App.defaultSecret, host: "127.0.0.1", port: port, caFile: caFile, pinnedKey: pin,
            proxy: "")
    }

    @Test(arguments: Flaw.allCases)
    func theKeyAloneIsTrusted(flaw: Flaw) async throws {
        let leaf = try await leaf(flaw)
        let shown = try await leaf.pin()
        let pin = try #require(PublicKeyPin(shown))
        try await withServer(configuration(leaf)) { server in
            let pusher = connect(port: server.port, pin: pin)
            pusher.subscribe("private-x")
            #expect(await recorder.waitFor("subscribed private-x"))
            pusher.disconnect()
            let channels = try await api(port: server.port, pin: pin).channels()
            #expect(channels.count <= 1)
        }
    }

    /// Even if the certificate is otherwise valid.
    @Test(arguments: [false, true])
    func anotherKeyIsRefusedBeforeAnythingIsSent(isTrustedOtherwise: Bool) async throws {
        let leaf = try await authority.issue("IP:127.0.0.1")
        let wrong = try #require(Self.wrongPin)
        try await withServer(configuration(leaf)) { server in
            let caFile = isTrustedOtherwise ? authority.certificate : nil
            let pusher = connect(port: server.port, pin: wrong) { $0.caFile = caFile }
            let shown = try await leaf.pin()
            let words =
                "the key of 127.0.0.1:\(server.port) is not the pinned one: expected \(wrong), the server showed \(shown)"
            #expect(await recorder.waitFor(words, count: 3))
            // Each after a pause, as for an untrusted certificate.
            #expect(recorder.contains("will retry"))
            pusher.disconnect()
            #expect(!recorder.contains("→ connected"))
            await #expect {
                try await api(port: server.port, pin: wrong, caFile: caFile).channels()
            } throws: { error in
                let error = error as? PusherHTTPError
                return error?.kind == .unreachable && error?.message.contains(words) == true
            }
            #expect(await server.state.history.isEmpty)
        }
    }

    /// A connection opened for one pin is not used for another.
    @Test func connectionsThatAreKeptAliveAreNotShared() async throws {
        let leaf = try await leaf()
        let shown = try await leaf.pin()
        let pin = try #require(PublicKeyPin(shown))
        try await withServer(configuration(leaf)) { server in
            for _ in 0..<2 {
                _ = try await api(port: server.port, pin: pin).channels()
                for client in [api(port: server.port, pin: Self.wrongPin), api(port: server.port, pin: nil)] {
                    await #expect(throws: PusherHTTPError.self) { try await client.channels() }
                }
            }
            // The other way round: a connection trusted through a CA file does not count with a pin.
            let trusting = api(port: server.port, pin: nil, caFile: leaf.certificate)
            _ = try await trusting.channels()
            let pinned = api(port: server.port, pin: Self.wrongPin, caFile: leaf.certificate)
            await #expect(throws: PusherHTTPError.self) { try await pinned.channels() }
        }
    }

    /// The server at an address changes after a while.
    @Test func theKeyIsCheckedAtEachReconnect() async throws {
        let (leaf, other) = (try await leaf(), try await leaf())
        let shown = try await leaf.pin()
        let pin = try #require(PublicKeyPin(shown))
        try await withServer(configuration(leaf)) { server in
            try await withServer(configuration(other)) { impostor in
                let target = Lock(server.port)
                let front = SocketServer { peer in
                    guard let server = SocketServer.Peer.connect(port: target.withLock { $0 }) else { return }
                    peer.relay(with: server)
                }
                let pusher = connect(port: front.port, pin: pin)
                #expect(await recorder.waitFor("→ connected"))
                target.withLock { $0 = impostor.port }
                try await server.inject(.close(code: 4200), into: try #require(pusher.connection.socketId))
                #expect(await recorder.waitFor("is not the pinned one", count: 2))
                #expect(await impostor.state.history.isEmpty)
                target.withLock { $0 = server.port }
                #expect(await recorder.waitFor("→ connected", count: 2))
                pusher.disconnect()
                #expect(await impostor.state.history.isEmpty)
            }
        }
    }

    @Test func withoutTLSItIsWrongUse() async throws {
        let visits = Lock(0)
        let server = SocketServer { _ in visits.withLock { $0 += 1 } }
        let pusher = connect(port: server.port, pin: Self.wrongPin) { $0.useTLS = false }
        #expect(await recorder.waitFor("a pinned key needs TLS"))
        #expect(await recorder.waitFor("→ disconnected"))
        #expect(!recorder.contains("will retry"))
        pusher.disconnect()
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false,
            pinnedKey: Self.wrongPin, proxy: "")
        await #expect {
            try await api.channels()
        } throws: { ($0 as? PusherHTTPError)?.kind == .invalidArgument }
        #expect(visits.withLock { $0 } == 0)
    }

    /// The pin applies to the server, not to a proxy in between, even if the proxy has that very key.
    @Test func aProxysOwnTLSIsCheckedAsUsual() async throws {
        let leaf = try await leaf()
        try await withServer(configuration(leaf)) { proxy in
            let options = NetworkOptions(
                proxy: "https://127.0.0.1:\(proxy.port)", pinnedKey: try await PublicKeyPin(leaf.pin()))
            await #expect {
                try await HTTPClient.send(HTTPRequest(url: "https://127.0.0.1:1/"), options: options)
            } throws: { ($0 as? TransportError)?.code == .proxy }
            #expect(await proxy.state.history.isEmpty)
        }
    }

    /// An auth endpoint elsewhere has its own key; one at the same address has the same key.
    @Test func anAuthEndpointElsewhereIsNotPinned() async throws {
        let leaf = try await leaf()
        let shown = try await leaf.pin()
        let pin = try #require(PublicKeyPin(shown))
        try await withServer(configuration(leaf)) { server in
            try await withServer { plain in
                let elsewhere = "http://127.0.0.1:\(plain.port)/pusher/auth"
                for endpoint in ["https://127.0.0.1:\(server.port)/pusher/auth", elsewhere] {
                    let recorder = Recorder()
                    let pusher = connect(port: server.port, pin: pin) {
                        $0.authMethod = .endpoint(authEndpoint: endpoint)
                    }
                    pusher.delegate = recorder
                    pusher.subscribe("private-x")
                    #expect(await recorder.waitFor("subscribed private-x"))
                    pusher.disconnect()
                }
            }
            // The same key at another address is not the server.
            try await withServer(configuration(leaf)) { other in
                let pusher = connect(port: server.port, pin: pin) {
                    $0.authMethod = .endpoint(authEndpoint: "https://127.0.0.1:\(other.port)/pusher/auth")
                    $0.maximumAuthRetries = 0
                }
                pusher.subscribe("private-x")
                #expect(await recorder.waitFor("is not trusted: it is self-signed"))
                pusher.disconnect()
                #expect(await other.state.history.isEmpty)
            }
        }
    }

    @Test func theKeyIsToldWithoutSendingAnything() async throws {
        let leaf = try await leaf(.expired)
        try await withServer(configuration(leaf)) { server in
            let options = NetworkOptions(proxy: "", pinnedKey: Self.wrongPin)
            let key = try await HTTPClient.key(
                of: "https://127.0.0.1:\(server.port)/", options: options, timeout: .seconds(30))
            let shown = try await leaf.pin()
            #expect(key.description == shown)
            #expect(await server.state.history.isEmpty)
        }
    }
}

struct PublicKeyPinOfCertificateTests {
    /// The result of `openssl pkey -pubin -outform der | openssl dgst -sha256`.
    @Test func itIsReadFromACertificate() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.makeSelfSigned("IP:127.0.0.1")
        let text = try String(contentsOfFile: leaf.certificate, encoding: .utf8)
        let pin = try #require(PublicKeyPin(certificate: text))
        let shown = try await leaf.pin()
        #expect(pin.description == shown)
        #expect(PublicKeyPin(certificate: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") == nil)
        #expect(PublicKeyPin(certificate: "") == nil)
    }
}
