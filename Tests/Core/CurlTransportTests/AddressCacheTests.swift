import CLibcurl
import TestSupport
import Testing
import Transport

@testable import CurlTransport

/// libcurl caches addresses, by default for a minute. A server that has moved must be found sooner.
@Suite(.overSockets)
struct AddressCacheTests {
    /// `*.localhost` is 127.0.0.1, where the server is. The cache holds another address, like that of a server that has
    /// moved.
    @Test func aServerThatHasMovedIsFoundAgain() async throws {
        let server = SocketServer { _ in }
        let url = "http://moved.localhost:\(server.port)/"
        let old = try await connect(to: url, pretending: "+moved.localhost:\(server.port):127.0.0.2")
        #expect(old == CURLE_COULDNT_CONNECT)
        #expect(await eventually(within: .seconds(30)) { (try? await connect(to: url)) == CURLE_OK })
    }

    /// - Parameter entry: A cache entry, as if a name server had answered; with `+`, it ages.
    @NetworkActor
    private func connect(to url: String, pretending entry: String? = nil) async throws -> CURLcode {
        let handle = try EasyHandle(url: url, options: NetworkOptions(proxy: ""))
        try handle.set(CURLOPT_CONNECT_ONLY, 1)
        let list = entry.flatMap { curl_slist_append(nil, $0) }
        defer { curl_slist_free_all(list) }
        if let list { try handle.set(CURLOPT_RESOLVE, pointer: list) }
        return try await withCheckedThrowingContinuation { done in
            do throws(TransportError) {
                try CurlMulti.shared.add(handle, connectLimit: .seconds(60)) { result in
                    CurlMulti.shared.remove(handle)
                    done.resume(returning: result)
                }
            } catch {
                done.resume(throwing: error)
            }
        }
    }
}
