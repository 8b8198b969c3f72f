import Foundation
import MatrixSDK
import MatrixTestSupport
import PusherMockServer
import PydioTestSupport
import TestSupport
import Testing

/// `--pin` and `--header`.
@Suite(.overSockets)
struct TrustOptionTests {
    private static let pin = "sha256//8Tn6zTR0lY5aoGyQMjrQR7dgAEMT+yTFiCp9LGFkYoI="
    private static let wrongPin = String(repeating: "0", count: 64)

    /// Runs `body` with a server whose certificate is trusted only through its key.
    private func withServer(_ body: (PusherMockServer, _ pin: String, [String]) async throws -> Void) async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.makeSelfSigned("DNS:other.example")
        let server = try await PusherMockServer.start(
            .init(tls: .init(certificatePath: leaf.certificate, privateKeyPath: leaf.privateKey)))
        let options = [
            "--key", "app-key", "--host", "127.0.0.1", "--port", "\(server.port)", "--proxy", "", "--secret",
            "app-secret",
        ]
        try await body(server, leaf.pin(), options)
        await server.stop()
    }

    @Test(.enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
    func theDoctorShowsTheKeyThatCanBePinned() async throws {
        try await withServer { server, pin, options in
            let doctor = try CommandRun(["doctor"] + options)
            #expect(await doctor.status() == 69)
            let key = try #require(doctor.output.first { $0.contains("TLS key") })
            #expect(key.hasSuffix(pin))
            #expect(doctor.output.last?.contains("self-signed") == true)
            #expect(doctor.output.last?.hasSuffix("to trust exactly this key, use --pin") == true)
            #expect(await server.state.history.isEmpty)

            let given = String(try #require(key.split(separator: " ").last))
            let trusting = try CommandRun(["doctor", "private-x", "--json", "--pin", given] + options)
            #expect(await trusting.status() == 0)
            #expect(trusting.output.contains { $0.contains(#""step":"TLS key","ok":true,"detail":"\#(pin)""#) })
            #expect(!trusting.output.contains { $0.contains("certificate trusted") })
        }
    }

    @Test(.enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
    func thePinnedKeyAloneIsTrustedByEveryCommand() async throws {
        try await withServer { server, pin, options in
            let listener = try CommandRun(["subscribe", "c", "--count", "1", "--pin", pin] + options)
            #expect(await server.waitFor { !$0.channels().isEmpty })
            let publisher = try CommandRun(
                ["trigger", "c", "e", "hello", "--app-id", "1", "--pin", pin] + options)
            #expect(await publisher.status() == 0, "\(publisher.errors)")
            #expect(await listener.status() == 0)
            #expect(listener.output.last?.contains("hello") == true)

            let requests = await server.state.history.count
            let stranger = try CommandRun(
                ["trigger", "c", "e", "x", "--app-id", "1", "--pin", Self.wrongPin] + options)
            #expect(await stranger.status() == 69)
            #expect(stranger.errors.contains { $0.contains("is not the pinned one: expected sha256//AAAA") })
            let doctor = try CommandRun(["doctor", "--pin", Self.wrongPin] + options)
            #expect(await doctor.status() == 69)
            #expect(doctor.output.last?.contains("the server showed \(pin)") == true)
            let after = await server.state.history.dropFirst(requests).filter { entry in
                if case .connectionClosed = entry { false } else { true }
            }
            #expect(after.isEmpty)
        }
    }

    @Test func aHomeserversKeyIsPinned() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.makeSelfSigned("DNS:other.example")
        let server = try await FakeHomeserver.start(tls: leaf)
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let scene = try await MatrixScene(isLoggedIn: false)
        try scene.logIn(to: server.address)
        let stranger = try await scene.matrix("rooms", "--proxy", "", "--pin", Self.wrongPin)
        #expect(stranger.status == 69)
        let shown = try await leaf.pin()
        #expect(stranger.run.errors.contains { $0.contains("the server showed \(shown)") })
        #expect(server.requests.isEmpty)
        let friend = try await scene.matrix("rooms", "--proxy", "", "--pin", leaf.pin())
        #expect(!friend.run.errors.contains { $0.contains("certificate") || $0.contains("pinned") })
        #expect(!server.requests.isEmpty)
    }

    @Test(arguments: [
        (["doctor", "--key", "k", "--pin", "abc"], "64 hexadecimal digits"),
        (["doctor", "--key", "k", "--pin", pin + ";" + pin], "64 hexadecimal digits"),
        (["doctor", "--key", "k", "--pin", pin, "--ca-file", "ca.pem"], "--ca-file and --pin cannot be used together"),
        (["subscribe", "c", "--key", "k", "--pin", pin, "--no-tls"], "--pin needs TLS"),
        (["channels", "--key", "k", "--pin", pin, "--no-tls"], "--pin needs TLS"),
        (["matrix", "rooms", "--pin", "sha256//abc"], "64 hexadecimal digits"),
        (["matrix", "rooms", "--pin", pin, "--ca-file", "x"], "--ca-file and --pin cannot be used together"),
        (
            ["matrix", "push-gateway", "--port", "0", "--channel", "c", "--pin", pin, "--no-tls"],
            "--pin needs TLS"
        ),
        (["pydio", "ls", "0:/", "--pin", "x"], "64 hexadecimal digits"),
        (["listen", "c", "--key", "k", "--matrix", "--pin", pin], "the key of one server"),
        (["listen", "--matrix", "--pydio", "w", "--pin", pin], "the key of one server"),
    ])
    func whatCannotBePinnedIsWrongUse(arguments: [String], words: String) async throws {
        let command = try CommandRun(arguments)
        #expect(await command.status() == 64)
        #expect(command.errors.joined(separator: " ").contains(words), "\(command.errors)")
    }

    @Test func headersGoWithTheHandshake() async throws {
        let server = SocketServer { peer in
            let isLetIn = peer.readHead().contains("\r\nX-Gateway-Token: a: b\r\n")
            peer.write("HTTP/1.1 \(isLetIn ? 418 : 403) X\r\nContent-Length: 0\r\n\r\n")
        }
        let options = ["--key", "k", "--host", "127.0.0.1", "--port", "\(server.port)", "--no-tls", "--proxy", ""]
        let with = try CommandRun(
            ["doctor", "--header", "X-Gateway-Token:  a: b", "--header", "X-Other: t0ken", "--verbose"] + options)
        #expect(await with.status() == 69)
        #expect(with.output.last?.contains("418") == true)
        #expect(!(with.output + with.errors).contains { $0.contains("t0ken") || $0.contains("a: b") })
        let without = try CommandRun(["doctor"] + options)
        #expect(await without.status() == 69)
        #expect(without.output.last?.contains("403") == true)
    }

    @Test(arguments: [
        ("t0ken", "--header takes 'Name: value'"),
        ("Host: t0ken", "the header Host belongs to the WebSocket handshake"),
        ("sec-websocket-key: t0ken", "belongs to the WebSocket handshake"), (": t0ken", "name that cannot be sent"),
        ("X Y: t0ken", "name that cannot be sent"),
        ("X: t0ken\r\nY: z", "the header X has a value that cannot be sent"),
    ])
    func whatIsNoHeaderOfTheUsersIsWrongUse(header: String, words: String) async throws {
        let command = try CommandRun(["subscribe", "c", "--key", "k", "--header", header])
        #expect(await command.status() == 64)
        #expect(command.errors.contains { $0.contains(words) }, "\(command.errors)")
        #expect(!command.errors.contains { $0.contains("t0ken") })
    }
}
