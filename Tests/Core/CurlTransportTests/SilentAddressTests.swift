import Basics
import Glibc
import TestSupport
import Testing
import Transport

@testable import CurlTransport

/// A host name with several addresses, some of which do not answer at all.
@Suite(.overSockets)
struct SilentAddressTests {
    @Test func theLastOfTwentyAddressesIsReached() async throws {
        let server = try await EchoServer()
        let silent = try SilentAddresses(count: 19, port: server.port)
        var request = WebSocketRequest(url: "ws://\(silent.host):\(server.port)/")
        request.connectTimeout = .seconds(12)  // shared by the addresses; here, nothing cuts the attempt short
        let connection = TestConnection(request, options: silent.options())
        #expect(await connection.waitFor { $0.isOpened || !$0.closures.isEmpty })
        #expect(connection.now.closures == [])
        connection.perform { $0.drop() }
        await server.stop()
    }

    @Test func requestsAndCertificateLookUpsReachTheLastAddress() async throws {
        let authority = try await CertificateAuthority()
        let secure = try await EchoServer(tls: authority.issue("IP:127.0.0.1"))
        let plain = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let (silent, silentSecure) = (
            try SilentAddresses(count: 2, port: plain.port), try SilentAddresses(count: 2, port: secure.port)
        )
        async let certificate = HTTPClient.certificate(
            of: "https://\(silentSecure.host):\(secure.port)/", options: silentSecure.options(), timeout: .seconds(30))
        let response = try await HTTPClient.send(
            HTTPRequest(url: "http://\(silent.host):\(plain.port)/", timeout: .seconds(30)), options: silent.options())
        #expect(response.body == Array("ok".utf8))
        #expect(try await certificate.hasPrefix("-----BEGIN CERTIFICATE-----"))
        await secure.stop()
    }

    /// The addresses are retried until the time is over.
    @Test func ifNoAddressAnswersItIsATimeOut() async throws {
        let silent = try SilentAddresses(count: 2, port: FreePort.next())
        await #expect {
            try await HTTPClient.send(
                HTTPRequest(url: "http://\(silent.host):\(silent.port)/", timeout: .seconds(1)),
                options: silent.options(includingLive: false))
        } throws: { error in
            (error as? TransportError)?.code == .timedOut && "\(error)".contains("no connection to \(silent.host)")
        }
    }
}

/// The time shares of addresses, on a manual clock.
struct AddressSharesTests {
    /// A host with silent addresses.
    private final class Host {
        private var shares: AddressShares

        init(limit: Double) { shares = AddressShares(limit: .bounded(seconds: limit) ?? .zero, now: .at(0)) }

        func share(_ family: Int32 = AF_INET, at seconds: Double) -> Duration? {
            defer { shares.wasSilent(family: family) }
            return shares.next(family: family, now: .at(seconds))
        }

        func beginsNextRound(at seconds: Double) -> Bool { shares.beginNextRound(now: .at(seconds)) }
    }

    @Test(arguments: 1...20, [1, 4, 10, 15, 30, 120, 1e12])
    func theLastAddressIsTriedInThreeQuartersOfTheTime(count: Int, limit: Double) throws {
        let host = Host(limit: limit)
        var now = 0.0
        for _ in 1..<count { now += try #require(host.share(at: now)) / .seconds(1) }
        #expect(now < limit * 0.75)
        #expect(try #require(host.share(at: now)) >= .milliseconds(30))
    }

    @Test func theOnlyAddressKeepsAllThatIsLeft() {
        let host = Host(limit: 16)
        #expect(host.share(at: 0) == .seconds(2))
        #expect(host.beginsNextRound(at: 2))
        #expect(host.share(at: 2) == nil)
    }

    @Test func laterRoundsDivideWhatIsLeft() {
        let host = Host(limit: 10)
        for _ in 1...3 { _ = host.share(at: 0) }
        #expect(host.beginsNextRound(at: 2))
        #expect(host.share(at: 2) == .seconds(2))
        #expect(host.share(at: 4) == .seconds(1.5))
    }

    /// libcurl tries the addresses of both families at the same time.
    @Test func familiesDoNotShare() {
        let host = Host(limit: 32)
        #expect(host.share(AF_INET6, at: 0) == .seconds(2))
        #expect(host.share(AF_INET, at: 0) == .seconds(2))
        #expect(host.beginsNextRound(at: 3))
        #expect(host.share(AF_INET6, at: 3) == nil)
    }

    @Test func withoutSilentAddressesOrTimeThereIsNoNextRound() {
        let host = Host(limit: 10)
        #expect(!host.beginsNextRound(at: 1))
        _ = host.share(at: 1)
        #expect(!host.beginsNextRound(at: 10))
    }
}

/// Loopback addresses from 127.0.0.2 on with full listener queues: the system drops connection requests.
private final class SilentAddresses {
    let port: Int
    let host: String
    private let count: Int
    private var descriptors: [Int32] = []

    init(count: Int, port: Int) throws {
        (self.count, self.port) = (count, port)
        host = "silent-\(count)-\(port).example"
        for number in 0..<count {
            let (listener, client) = (Self.makeSocket(), Self.makeSocket())
            descriptors += [listener, client]
            let isListening =
                Self.with(Self.number(number), port) { bind(listener, $0, $1) } && listen(listener, 0) == 0
            let isFull = Self.with(Self.number(number), port) { connect(client, $0, $1) }
            try #require(isListening && isFull)
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// Options with the silent addresses first, then 127.0.0.1.
    func options(includingLive: Bool = true) -> NetworkOptions {
        var options = NetworkOptions(proxy: "")
        let addresses = (0..<count).map { "127.0.0.\(2 + $0)" } + (includingLive ? ["127.0.0.1"] : [])
        options.addresses = "\(host):\(port):" + addresses.joined(separator: ",")
        return options
    }

    private static func makeSocket() -> Int32 { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }

    private static func number(_ index: Int) -> UInt32 { 0x7F00_0002 + UInt32(index) }

    private static func with(
        _ address: UInt32, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Bool {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(port).bigEndian
        name.sin_addr.s_addr = address.bigEndian
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        } == 0
    }
}
