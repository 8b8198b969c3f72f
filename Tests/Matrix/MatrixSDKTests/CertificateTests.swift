import Basics
import Foundation
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct CertificateTests {
    private static func client(
        _ server: FakeHomeserver, _ handler: (@Sendable (Data) -> Bool)?
    ) -> MXRestClient {
        MXRestClient(
            credentials: MXCredentials(homeServer: server.address, userId: "@a:s", accessToken: "token"),
            unrecognizedCertificateHandler: handler, options: .quick)
    }

    @Test func aCertificateThatTheUserKnowsIsTrustedFromThenOn() async throws {
        let authority = try await CertificateAuthority()
        defer { withExtendedLifetime(authority) {} }  // keeps its files
        let leaf = try await authority.makeSelfSigned("IP:127.0.0.1")
        let server = try await FakeHomeserver.start(tls: leaf)
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":["!a"]}"#))
        let asked = Lock<[Data]>([])
        let client = Self.client(server) { certificate in
            asked.withLock { $0.append(certificate) }
            return true
        }
        for _ in 0..<2 {
            let rooms = try await client.joinedRooms()
            #expect(rooms == ["!a"])
        }
        let shown = try String(contentsOfFile: leaf.certificate, encoding: .utf8)
        let expected = Data(base64Encoded: shown.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined())
        #expect(asked.withLock { $0 } == [expected])
    }

    @Test(arguments: [true, false]) func nothingIsSentToAServerThatIsNotTrusted(hasHandler: Bool) async throws {
        let authority = try await CertificateAuthority()
        defer { withExtendedLifetime(authority) {} }  // keeps its files
        let leaf = try await authority.makeSelfSigned("IP:127.0.0.1")
        let server = try await FakeHomeserver.start(tls: leaf)
        let refusing: @Sendable (Data) -> Bool = { _ in false }
        let client = Self.client(server, hasHandler ? refusing : nil)
        await #expect {
            try await client.joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(server.requests.isEmpty)
    }

    /// The user is not asked about a server certificate with another key either.
    @Test func aPinnedKeyIsTheOnlyOneThatIsTrusted() async throws {
        let authority = try await CertificateAuthority()
        defer { withExtendedLifetime(authority) {} }  // keeps its files
        let leaf = try await authority.makeSelfSigned("DNS:other.example")
        let server = try await FakeHomeserver.start(tls: leaf)
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":["!a"]}"#))
        let credentials = MXCredentials(homeServer: server.address, userId: "@a:s", accessToken: "token")
        let asked = Lock(0)
        func client(_ pin: PublicKeyPin?) -> MXRestClient {
            var options = MXRestClientOptions.quick
            options.pinnedKey = pin
            return MXRestClient(
                credentials: credentials,
                unrecognizedCertificateHandler: { _ in
                    asked.withLock { $0 += 1 }
                    return true
                }, options: options)
        }
        let rooms = try await client(PublicKeyPin(leaf.pin())).joinedRooms()
        #expect(rooms == ["!a"])
        let count = server.requests.count
        let wrong = try #require(PublicKeyPin(sha256: [UInt8](repeating: 7, count: 32)))
        await #expect {
            try await client(wrong).joinedRooms()
        } throws: { error in
            let error = error as? MatrixError
            return error?.code == .network && error?.message.contains("expected \(wrong), the server showed") == true
        }
        #expect(server.requests.count == count)
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func trustingOneCertificateTrustsNoOther() async throws {
        let authority = try await CertificateAuthority()
        defer { withExtendedLifetime(authority) {} }  // keeps its files
        let server = try await FakeHomeserver.start(tls: authority.makeSelfSigned("IP:127.0.0.1"))
        server.on("GET", "v3/joined_rooms", .json(#"{"joined_rooms":[]}"#))
        let other = try await FakeHomeserver.start(tls: authority.makeSelfSigned("IP:127.0.0.1"))
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v1/media/download/s/m", .redirect(to: other.address + "/x"))
        let client = Self.client(server) { _ in true }
        _ = try await client.joinedRooms()
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        await #expect {
            try await client.downloadContent("mxc://s/m", to: file)
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(other.requests.isEmpty)
    }
}
