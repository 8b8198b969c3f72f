import Foundation
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import PusherMockServer

@Suite(.overSockets)
struct StartErrorTests {
    private func failure(_ configuration: PusherMockServer.Configuration) async throws -> PusherMockServerError {
        let error = await #expect(throws: PusherMockServerError.self) {
            let server = try await PusherMockServer.start(configuration)
            await server.stop()
        }
        return try #require(error)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func aUsedPortIsNamed(host: String) async throws {
        let server = try await PusherMockServer.start(.init(host: host))
        let error = try await failure(server.configuration)
        #expect(error.code == .portInUse)
        let shown = host == "::1" ? "[::1]" : host
        #expect(error.message == "cannot listen on \(shown):\(server.port): another program uses this port")
        await server.stop()
    }

    @Test func anAddressOfAnotherMachineIsNamed() async throws {
        let error = try await failure(.init(host: "192.0.2.1", port: 6001))
        #expect(error.code == .addressUnavailable)
        #expect(error.message == "cannot listen on 192.0.2.1:6001: this machine does not have the address")
    }

    @Test(arguments: ["no.such.host.invalid", "", "300.1.1.1", "a b"])
    func anUnknownHostIsNamed(host: String) async throws {
        let error = try await failure(.init(host: host, port: 6001))
        #expect(error.code == .addressUnavailable)
        #expect(error.message == "cannot listen on \(host):6001: no address is known for this host")
    }

    @Test(
        arguments: [
            (EACCES, .portNotPermitted, "only privileged programs may use this port"),
            (EPERM, .portNotPermitted, "only privileged programs may use this port"),
            (EAFNOSUPPORT, .addressUnavailable, "this machine does not have the address"),
            (ENOBUFS, .bind, "No buffer space available"),
        ] as [(Int32, PusherMockServerError.Code, String)])
    func whatTheSystemSaysIsInWords(number: Int32, code: PusherMockServerError.Code, words: String) {
        let error = PusherMockServerError.cannotListen(
            on: "127.0.0.1", port: 80, because: IOError(errnoCode: number, reason: "bind(descriptor:ptr:bytes:)"))
        #expect(error.code == code)
        #expect(error.message == "cannot listen on 127.0.0.1:80: \(words)")
    }

    @Test(.enabled(if: PusherMockServer.speaksTLS, "needs the trait MockServerTLS"))
    func filesThatAreNotFitAreNamed() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.issue("DNS:localhost")
        let other = try await authority.issue("DNS:localhost")
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (empty, text) = (folder.appending(path: "empty").path, folder.appending(path: "text").path)
        try Data().write(to: URL(filePath: empty))
        try Data("-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n".utf8).write(
            to: URL(filePath: text))
        let missing = folder.appending(path: "missing").path
        for (certificate, privateKey, code, message) in [
            (
                missing, leaf.privateKey, .certificate,
                "cannot read the certificate \(missing): No such file or directory"
            ),
            (
                folder.path, leaf.privateKey, .certificate,
                "cannot read the certificate \(folder.path): it is a directory"
            ),
            (empty, leaf.privateKey, .certificate, "\(empty) does not hold a certificate in PEM form"),
            (text, leaf.privateKey, .certificate, "\(text) does not hold a certificate in PEM form"),
            (
                leaf.privateKey, leaf.privateKey, .certificate,
                "\(leaf.privateKey) does not hold a certificate in PEM form"
            ),
            (
                leaf.certificate, missing, .privateKey,
                "cannot read the private key \(missing): No such file or directory"
            ),
            (
                leaf.certificate, leaf.certificate, .privateKey,
                "\(leaf.certificate) does not hold a private key in PEM form, or the key is encrypted"
            ),
            (
                leaf.certificate, other.privateKey, .privateKey,
                "the private key \(other.privateKey) does not belong to the certificate \(leaf.certificate)"
            ),
        ] as [(String, String, PusherMockServerError.Code, String)] {
            let error = try await failure(.init(tls: .init(certificatePath: certificate, privateKeyPath: privateKey)))
            #expect(error.code == code)
            #expect(error.message == message)
        }
    }
}
