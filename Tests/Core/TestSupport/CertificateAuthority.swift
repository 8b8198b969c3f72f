import Foundation

/// A temporary authority that issues certificates with the `openssl` command.
package final class CertificateAuthority: Sendable {
    package struct Leaf: Sendable {
        package let certificate: String
        package let privateKey: String

        package init(certificate: String, privateKey: String) {
            (self.certificate, self.privateKey) = (certificate, privateKey)
        }

        /// Returns the public key's `sha256//…` pin as OpenSSL's own commands compute it.
        package func pin() async throws -> String {
            let command =
                "openssl x509 -in '\(certificate)' -pubkey -noout | openssl pkey -pubin -outform der"
                + " | openssl dgst -sha256 -binary | openssl base64 -A"
            let outcome = try await ChildProcess.run("sh", ["-c", command])
            guard outcome.status == 0 else { throw OpenSSLFailed(arguments: command, errors: outcome.errors) }
            return "sha256//" + outcome.text
        }
    }

    private let folder: URL

    /// An elliptic curve key, because an RSA key takes a hundred times as long to generate.
    private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"

    /// The path of the PEM file with the authority's own certificate.
    package var certificate: String { folder.appending(path: "ca.pem").path }

    /// - Parameter name: The authority's name. OpenSSL treats authorities with the same name as one.
    package init(name: String = "Test-CA") async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await openssl("req -x509 \(Self.newKey) -nodes -days 3 -subj /CN=\(name) -keyout ca.key -out ca.pem")
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// - Parameters:
    ///   - names: Subject alternative names, such as `IP:127.0.0.1` and `DNS:localhost`; `nil` for none.
    ///   - commonName: The common name of the subject.
    ///   - days: The validity; negative for an expired certificate.
    package func issue(_ names: String?, commonName: String = "leaf", days: Int = 2) async throws -> Leaf {
        let name = UUID().uuidString
        let field = names.map { "subjectAltName=\($0)" } ?? "basicConstraints=CA:FALSE"
        try Data(field.utf8).write(to: folder.appending(path: "\(name).ext"))
        try await openssl("req \(Self.newKey) -nodes -subj /CN=\(commonName) -keyout \(name).key -out \(name).csr")
        try await openssl(
            "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days \(days) -extfile \(name).ext"
                + " -out \(name).pem")
        return leaf(name)
    }

    package func makeSelfSigned(_ names: String) async throws -> Leaf {
        let name = UUID().uuidString
        try await openssl(
            "req -x509 \(Self.newKey) -nodes -days 2 -subj /CN=leaf -addext subjectAltName=\(names)"
                + " -keyout \(name).key -out \(name).pem")
        return leaf(name)
    }

    private func leaf(_ name: String) -> Leaf {
        Leaf(
            certificate: folder.appending(path: "\(name).pem").path,
            privateKey: folder.appending(path: "\(name).key").path)
    }

    private struct OpenSSLFailed: Error {
        let arguments, errors: String
    }

    private func openssl(_ arguments: String) async throws {
        let words = arguments.split(separator: " ").map(String.init)
        let outcome = try await ChildProcess.run("openssl", words, folder: folder)
        guard outcome.status == 0 else { throw OpenSSLFailed(arguments: arguments, errors: outcome.errors) }
    }
}
