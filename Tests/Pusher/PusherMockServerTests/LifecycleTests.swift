import Foundation
import PusherMockServer
import TestSupport
import Testing

#if MockServerTLS
    import NIOSSL
#endif

@Suite(.overSockets)
struct LifecycleTests {
    @Test func stoppingDropsConnectionsAndFreesThePort() async throws {
        let server = try await PusherMockServer.start()
        let (client, _) = try await TestClient.established(to: server)
        await server.stop()
        #expect(await client.next() == .end)
        await #expect(throws: (any Error).self) { try await TestClient.connect(to: server) }
        await server.stop()
        #expect(await server.state.tcpConnectionCount == 0)
        #expect(await server.waitFor { $0.connectionCount == 1 } == false)

        let again = try await PusherMockServer.start(server.configuration)
        #expect(again.port == server.port)
        _ = try await TestClient.established(to: again)
        await again.stop()
    }

    @Test func usedPortIsAnError() async throws {
        let server = try await PusherMockServer.start()
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(.init(port: server.port))
        }
        #expect(error?.code == .portInUse)
        await server.stop()
    }

    @Test(arguments: [("127.0.0.1", true), ("127.1.2.3", true), ("localhost", true), ("0.0.0.0", false)])
    func knowsWhetherOnlyThisMachineReachesIt(host: String, onLoopback: Bool) async throws {
        let server = try await PusherMockServer.start(.init(host: host))
        #expect(server.isOnLoopback == onLoopback)
        await server.stop()
    }

    @Test(
        arguments: [
            .init(apps: []), .init(apps: [.init(), .init()]), .init(apps: [.init(), .init(id: "2")]),
            .init(pathPrefix: "ws"), .init(pathPrefix: "/ws/"), .init(port: 70_000), .init(maximumMessageSize: 0),
        ] as [PusherMockServer.Configuration])
    func contradictoryConfigurationIsAnError(configuration: PusherMockServer.Configuration) async throws {
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(configuration)
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func missingCertificateIsAnError() async throws {
        let tls = PusherMockServer.TLS(certificatePath: "/nowhere/cert.pem", privateKeyPath: "/nowhere/key.pem")
        let error = await #expect(throws: PusherMockServerError.self) {
            try await PusherMockServer.start(.init(tls: tls))
        }
        #expect(error?.code == (PusherMockServer.speaksTLS ? .certificate : .tlsUnavailable))
    }

    #if MockServerTLS
        @Test func tlsServesSecureConnectionsOnly() async throws {
            let authority = try await CertificateAuthority()
            let leaf = try await authority.issue("DNS:localhost,IP:127.0.0.1")
            let server = try await PusherMockServer.start(
                .init(
                    apps: [.init(requiresTLS: true)],
                    tls: .init(certificatePath: leaf.certificate, privateKeyPath: leaf.privateKey)))
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .file(authority.certificate)
            let context = try NIOSSLContext(configuration: configuration)
            let client = try await TestClient.connect(to: server) {
                try NIOSSLClientHandler(context: context, serverHostname: "localhost")
            }
            #expect(await client.text()?.contains("connection_established") == true)
            await #expect(throws: (any Error).self) { try await TestClient.connect(to: server) }
            #expect(await server.state.connectionCount == 1)
            await server.stop()
        }
    #endif

    @Test func logReplaysThenFollowsUntilTheStop() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        var log = server.log().makeAsyncIterator()
        #expect(await log.next() == .connectionOpened(socketID: socketID, app: "app-key"))
        guard case .frameSent = await log.next() else {
            Issue.record("the handshake is not in the log")
            return
        }
        let ping = #"{"event":"pusher:ping"}"#
        try await client.send(ping)
        #expect(await log.next() == .frameReceived(ping, socketID: socketID))
        #expect(await log.next() == .frameSent(#"{"event":"pusher:pong","data":{}}"#, socketID: socketID))
        await server.stop()
        #expect(await log.next() == .connectionClosed(socketID: socketID, code: nil))
        #expect(await log.next() == nil)
    }

    @Test func historyIsBounded() async throws {
        let server = try await PusherMockServer.start(.init(historyLimit: 3))
        let (client, _) = try await TestClient.established(to: server)
        for _ in 0..<20 {
            try await client.send(#"{"event":"pusher:ping"}"#)
            _ = await client.text()
        }
        #expect(await server.state.history.count == 3)
        await server.stop()
    }

    @Test func eventFansOutToAThousand() async throws {
        let server = try await PusherMockServer.start()
        let clients = try await withThrowingTaskGroup(of: TestClient.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await TestClient.subscribed(to: "c", on: server).client }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await server.publish(event: "e", channel: "c", data: "x") == 1000)
        for client in clients { #expect(await client.text() == #"{"event":"e","channel":"c","data":"x"}"#) }
        await server.stop()
    }
}
