import Basics
import CLibcurl
import TestSupport
import Testing
import Transport

@testable import CurlTransport

/// When libcurl opens a connection, it closes those it considers idle for too long: by default after two minutes, here
/// after a second. That closes the kept connections of other tests, too.
@Suite(.overSocketsAlone)
struct ConnectionCacheTests {
    @Test(arguments: [false, true])
    func aQuietConnectionIsNotClosedWhenAnotherIsOpened(overTLS: Bool) async throws {
        let authority = try await CertificateAuthority()
        let server = try await EchoServer(tls: overTLS ? authority.issue("IP:127.0.0.1") : nil)
        let other = try await EchoServer()
        let connection = TestConnection(port: server.port, tls: overTLS ? authority.certificate : nil)
        #expect(await connection.waitFor { $0.isOpened })
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(4) {
            #expect(await connects(to: other.port, closingIdleConnectionsAfter: 1))
        }
        connection.send("still here")
        #expect(await connection.waitFor { $0.messages.count == 1 || !$0.closures.isEmpty })
        #expect(connection.now.messages.map(\.text) == ["still here"])
        connection.perform { $0.drop() }
        await server.stop()
        await other.stop()
    }

    @NetworkActor
    private func connects(to port: Int, closingIdleConnectionsAfter seconds: Int) async -> Bool {
        guard let handle = try? EasyHandle(url: "http://127.0.0.1:\(port)/", options: NetworkOptions(proxy: "")),
            (try? handle.set(CURLOPT_CONNECT_ONLY, 1)) != nil,
            (try? handle.set(CURLOPT_MAXAGE_CONN, seconds)) != nil
        else { return false }
        return await withCheckedContinuation { done in
            let isAdded: Void? = try? CurlMulti.shared.add(handle, connectLimit: .seconds(60)) { result in
                CurlMulti.shared.remove(handle)
                done.resume(returning: result == CURLE_OK)
            }
            if isAdded == nil { done.resume(returning: false) }
        }
    }
}
