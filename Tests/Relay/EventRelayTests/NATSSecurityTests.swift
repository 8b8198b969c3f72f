import Basics
import Realtime
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct NATSSecurityTests {
    private static let users = """
        authorization { users: [ { user: relay, password: "hunter2" } ] }

        """

    @Test func aWrongPasswordIsToldWithoutIt() async throws {
        let server = try await NATSServer(configuration: Self.users)
        let connection = NATSConnection(try NATSOptions("nats://relay:hunter3@127.0.0.1:\(server.port)"))
        let error = try await #require(throws: NATSError.self) { try await connection.connect() }
        #expect(error.kind == .authentication)
        #expect(!"\(error)\(String(reflecting: error))".contains("hunter"))
        #expect(try await server.connect("relay", password: "hunter2").connectionState == .connected)
    }

    @Test func aRefusedLoginIsTriedAgain() async throws {
        let server = try await NATSServer(configuration: Self.users)
        let connection = NATSConnection(try NATSOptions("nats://relay:hunter3@127.0.0.1:\(server.port)"))
        let failures = Lock<[NATSError]>([])
        connection.observe { if case .failed(let error) = $0 { failures.withLock { $0.append(error) } } }
        connection.start()
        #expect(await eventually { failures.withLock { $0.contains { $0.kind == .authentication } } })
        #expect(connection.connectionState != .connected)
        #expect(failures.withLock { !"\($0)".contains("hunter") })
    }

    @Test func aTokenIsGivenToTheServer() async throws {
        let server = try await NATSServer(configuration: "authorization { token: \"s3cret\" }\n")
        let connection = NATSConnection(try NATSOptions("nats://s3cret@127.0.0.1:\(server.port)"))
        try await connection.connect()
        #expect(connection.connectionState == .connected)
    }

    @Test func aPublishWithoutPermissionSaysSo() async throws {
        let server = try await NATSServer(
            configuration: """
                authorization { users: [
                    { user: a, password: pw, permissions: {
                        publish: ["ev.mine.>", "$JS.API.STREAM.INFO.*"], subscribe: "_INBOX.>" } }
                    { user: b, password: pw }
                ] }

                """)
        let setup = try await server.connect("b")
        _ = try await setup.setUp(.events(replicas: 1, maximumBytes: 1 << 20))
        let connection = try await server.connect("a")
        _ = try await connection.publish(.make("ev.mine.x"))
        let error = await #expect(throws: NATSError.self) {
            try await connection.publish(.make("ev.other.x"), wait: .seconds(1))
        }
        #expect(error?.kind == .permission)
        #expect(error?.message == "the user may not publish or subscribe to ev.other.x")
        let read = await #expect(throws: NATSError.self) {
            try await connection.leaderMessage(stream: "EVENTS", subject: "ev.mine.x", wait: .seconds(1))
        }
        #expect(read?.kind == .permission)
    }

    // MARK: TLS

    private func tlsServer(_ names: String, _ authority: CertificateAuthority) async throws -> NATSServer {
        let leaf = try await authority.issue(names)
        return try await NATSServer(
            configuration: "tls { cert_file: \"\(leaf.certificate)\", key_file: \"\(leaf.privateKey)\" }\n")
    }

    @Test func theCertificateMustBeOfTheServersName() async throws {
        let authority = try await CertificateAuthority()
        let server = try await tlsServer("DNS:nats.example.org", authority)
        var options = try NATSOptions("tls://127.0.0.1:\(server.port)")
        options.tls = NATSOptions.TLS(authorityFile: authority.certificate)
        for (name, isRight) in [
            (nil, false), ("other.example.org", false), ("nats.example.org", true),
        ] as [(String?, Bool)] {
            options.tls?.expectedHostName = name
            let connection = NATSConnection(options)
            if isRight {
                try await connection.connect()
            } else {
                let error = await #expect(throws: NATSError.self) { try await connection.connect() }
                #expect(error?.kind == .tls)
            }
        }
        let byName = NATSConnection(try NATSOptions("tls://localhost:\(server.port)"))
        await #expect(throws: NATSError.self) { try await byName.connect() }
    }

    @Test func anUnknownAuthorityIsRefused() async throws {
        let server = try await tlsServer("IP:127.0.0.1,DNS:localhost", CertificateAuthority())
        let connection = NATSConnection(try NATSOptions("tls://localhost:\(server.port)"))
        let error = await #expect(throws: NATSError.self) { try await connection.connect() }
        #expect(error?.kind == .tls)
    }

    @Test func noPasswordGoesToAServerWithoutTLS() async throws {
        let server = try await NATSServer(configuration: Self.users)
        let connection = NATSConnection(try NATSOptions("tls://relay:hunter2@127.0.0.1:\(server.port)"))
        let error = await #expect(throws: NATSError.self) { try await connection.connect() }
        #expect(error?.kind == .tls)
    }
}
