import Basics
import CurlTransport
import Foundation
import TestSupport
import Testing
import Transport

/// Which certificates are accepted. libcurl trusts the system's folder of authorities in addition to the configured
/// ones, so these tests run where that folder holds a test authority.
@Suite(.overSockets)
struct TrustTests {
    @Test(.enabled("needs namespaces", Namespace.isPermitted))
    func aCAFileReplacesTheSystemsAuthorities() async throws {
        let (ofSystem, other) = try await (CertificateAuthority(), CertificateAuthority(name: "Other-CA"))
        let leaf = try await ofSystem.issue("IP:127.0.0.1")
        let folder = FileManager.default.temporaryDirectory.appending(path: "authorities-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(atPath: ofSystem.certificate, toPath: folder.appending(path: "ca.pem").path)
        #expect(try await ChildProcess("openssl", ["rehash", folder.path]).status() == 0)
        // The file that libcurl may have been built for must exist, too.
        try FileManager.default.copyItem(
            atPath: other.certificate, toPath: folder.appending(path: "ca-certificates.crt").path)
        let failure = try await Namespace.run(
            "TrustTests/insideWithAnAuthorityOfTheSystems", prepare: "mount --bind '\(folder.path)' /etc/ssl/certs",
            environment: [
                "TEST_CA_FILE": other.certificate, "TEST_CERTIFICATE": leaf.certificate,
                "TEST_PRIVATE_KEY": leaf.privateKey,
            ])
        #expect(failure == nil)
    }

    @Test(.enabled(if: Namespace.isInside, "runs within another test"))
    func insideWithAnAuthorityOfTheSystems() async throws {
        let variables = ProcessInfo.processInfo.environment
        let leaf = CertificateAuthority.Leaf(
            certificate: try #require(variables["TEST_CERTIFICATE"]),
            privateKey: try #require(variables["TEST_PRIVATE_KEY"]))
        let server = try await EchoServer(tls: leaf)
        let other = try #require(variables["TEST_CA_FILE"])
        let (system, replaced) = (NetworkOptions(proxy: ""), NetworkOptions(caFile: other, proxy: ""))
        let url = "127.0.0.1:\(server.port)/"
        let (secureProxy, unprotected) = ("https://127.0.0.1:\(server.port)", "http://127.0.0.1:1/")

        #expect(await webSocketFailure(url, system) == nil)
        #expect(await webSocketFailure(url, replaced) == .certificateUntrusted)
        #expect(await requestFailure("https://\(url)", system) == accepted)
        #expect(await requestFailure("https://\(url)", replaced) == .certificateUntrusted)
        #expect(await requestFailure(unprotected, NetworkOptions(proxy: secureProxy)) == accepted)
        #expect(await requestFailure(unprotected, NetworkOptions(caFile: other, proxy: secureProxy)) == .proxy)
        // Additional trust neither brings back the system's authorities nor removes them.
        var besides = replaced
        besides.trustedCertificate = try String(contentsOfFile: other, encoding: .utf8)
        #expect(await requestFailure("https://\(url)", besides) == .certificateUntrusted)
        besides.trustedCertificate = try String(contentsOfFile: leaf.certificate, encoding: .utf8)
        #expect(await requestFailure("https://\(url)", besides) == accepted)
        besides.caFile = nil
        besides.trustedCertificate = try String(contentsOfFile: other, encoding: .utf8)
        #expect(await requestFailure("https://\(url)", besides) == accepted)
        try Namespace.pass()
    }

    /// The common name is arbitrary text, which an authority need not check (RFC 9525, section 2).
    @Test(arguments: [nil, "email:me@localhost"])
    func aCommonNameIsNoHost(names: String?) async throws {
        let authority = try await CertificateAuthority()
        let server = try await EchoServer(tls: authority.issue(names, commonName: "localhost"))
        let target = "localhost:\(server.port)"
        let options = NetworkOptions(caFile: authority.certificate, proxy: "")
        let proxied = NetworkOptions(caFile: authority.certificate, proxy: "https://\(target)")
        #expect(await webSocketFailure("\(target)/", options) == .certificateWrongHost)
        #expect(await requestFailure("https://\(target)/", options) == .certificateWrongHost)
        #expect(await requestFailure("http://127.0.0.1:1/", proxied) == .proxy)
        // Fetching a certificate accepts any.
        let shown = try await HTTPClient.certificate(of: "https://\(target)/", options: options, timeout: .seconds(60))
        #expect(shown.hasPrefix("-----BEGIN CERTIFICATE-----"))
        await server.stop()
    }

    private func webSocketFailure(_ target: String, _ options: NetworkOptions) async -> TransportError.Code? {
        let connection = TestConnection(WebSocketRequest(url: "wss://\(target)"), options: options)
        _ = await connection.waitFor { $0.isOpened || !$0.closures.isEmpty }
        return connection.now.closures.first?.error?.code
    }

    /// The server accepts the connection, and never answers anything but a WebSocket handshake.
    private let accepted = TransportError.Code.timedOut

    private func requestFailure(_ url: String, _ options: NetworkOptions) async -> TransportError.Code? {
        do throws(TransportError) {
            _ = try await HTTPClient.send(HTTPRequest(url: url, timeout: .seconds(5)), options: options)
            return nil
        } catch {
            return error.code
        }
    }
}
