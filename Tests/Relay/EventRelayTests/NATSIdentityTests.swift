import Basics
import Foundation
import Realtime
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

/// Every kind of credentials, with a real server.
@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct NATSIdentityTests {
    /// The public key of Fixtures/nats/user.seed.
    private static let publicKey = "UB5NPS6YXWJDS7RANJIEM36Y42YNIXOFV7EV32RUYQ34DQQPVGGI3ADW"

    private func path(_ name: String) throws -> String {
        try #require(Fixtures.files("nats").first { $0.lastPathComponent == name }).path
    }

    private func check(_ options: NATSOptions) async throws {
        let connection = NATSConnection(options)
        try await connection.connect()
        #expect(try await connection.setUp(.events(replicas: 1, maximumBytes: 1 << 20)) == .created)
        _ = try await connection.publish(.make(payload: "1"))
        var reading = EventConsumerOptions()
        reading.start = .beginning
        let consumer = EventConsumer(nats: options, options: reading)
        for await message in consumer.events() {
            #expect(message.event.data == "1")
            break
        }
        await consumer.shutDown()
    }

    private func refusal(_ options: NATSOptions) async -> NATSError? {
        await #expect(throws: NATSError.self) { try await NATSConnection(options).connect() }
    }

    @Test func aCredentialsFileIsTaken() async throws {
        let server = try await NATSServer(configuration: Fixtures.text("nats/operator.conf"))
        var options = try NATSOptions(server.url)
        #expect(await refusal(options)?.kind == .authentication)
        options.credentials = .file(try path("user.creds"))
        try await check(options)
    }

    @Test func aCredentialsFileThatIsMissingIsNamedAsTheReason() async throws {
        let server = try await NATSServer()
        var options = try NATSOptions(server.url)
        options.credentials = .file("/nowhere/user.creds")
        let error = await refusal(options)
        #expect(error?.message.contains("/nowhere/user.creds") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(".c:") == false)
    }

    /// libnats connects without any credentials.
    @Test(arguments: ["", "-----BEGIN NATS USER JWT-----\nx\n"], [false, true])
    func aCredentialsFileThatHasNoneIsRefused(text: String, isFolder: Bool) async throws {
        let server = try await NATSServer()
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).creds").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        if isFolder {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } else {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        var options = try NATSOptions(server.url)
        options.credentials = .file(path)
        let error = await refusal(options)
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains(path) == true, "\(error?.message ?? "")")
    }

    /// A shell makes a pipe for a command that prints them. libnats would wait for it forever.
    @Test func aPipeIsRefused() async throws {
        let server = try await NATSServer()
        let pipe = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).creds").path
        try #require(mkfifo(pipe, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: pipe) }
        var options = try NATSOptions(server.url)
        options.credentials = .file(pipe)
        #expect(await refusal(options)?.kind == .invalidArgument)
    }

    @Test func anNKeyIsTaken() async throws {
        let server = try await NATSServer(
            configuration: "authorization { users: [ { nkey: \(Self.publicKey) } ] }\n")
        var options = try NATSOptions(server.url)
        #expect(await refusal(options)?.kind == .authentication)
        options.credentials = .nkey(Self.publicKey, seedFile: try path("user.seed"))
        try await check(options)
    }

    /// libnats omits it, as it does one of 256.
    @Test(arguments: [false, true])
    func aSignatureThatBeginsWithZeroDoesNotEndTheLogin(isOfAFile: Bool) async throws {
        let nonces = Lock(["jupF4qC0EvSJK_o", "AbjuiCMAU7fVKBQ"])  // user.seed signs these with such a signature
        let server = SocketServer { peer in
            let nonce = nonces.withLock { $0.popLast() } ?? "AAAAAAAAAAAAAAA"
            peer.write(
                #"INFO {"version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,"nonce":"\#(nonce)"}"#
                    + "\r\n")
            var login = ""
            while !login.contains("PING\r\n") {
                let bytes = peer.read()
                if bytes.isEmpty { return }
                login += String(decoding: bytes, as: UTF8.self)
            }
            peer.write(login.contains(#""sig":""#) ? "PONG\r\n" : "-ERR 'Authorization Violation'\r\n")
            while !peer.read().isEmpty {}
        }
        var options = try NATSOptions("nats://127.0.0.1:\(server.port)")
        options.credentials =
            try isOfAFile ? .file(path("user.creds")) : .nkey(Self.publicKey, seedFile: path("user.seed"))
        let connection = NATSConnection(options)
        try await connection.connect()
        #expect(nonces.withLock { $0 } == [])
        await withCheckedContinuation { done in connection.close { done.resume() } }
    }

    @Test func aClientCertificateIsTaken() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.issue("DNS:localhost,IP:127.0.0.1")
        let server = try await NATSServer(
            configuration: """
                tls { cert_file: "\(leaf.certificate)", key_file: "\(leaf.privateKey)", ca_file: "\(authority.certificate)",
                      verify: true }

                """)
        var options = try NATSOptions("tls://localhost:\(server.port)")
        options.tls = NATSOptions.TLS(authorityFile: authority.certificate)
        #expect(await refusal(options) != nil)
        let own = try await authority.issue("DNS:client.example.org")
        options.tls?.certificate = NATSOptions.TLS.Certificate(file: own.certificate, keyFile: own.privateKey)
        try await check(options)
    }
}
