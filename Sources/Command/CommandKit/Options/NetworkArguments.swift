package import ArgumentParser
import Foundation
package import Transport

/// The route to a server and the trusted servers, for every command that connects.
package struct NetworkArguments: ParsableArguments {
    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    package var proxy: String?

    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.", completion: .file())
    package var caFile: String?

    @Option(
        help: ArgumentHelp(
            """
            Trust only a server with this public key, whatever its certificate says. Give the SHA-256 of the key as \
            sha256//BASE64 or in hexadecimal; pusher-cli doctor prints it.
            """, valueName: "sha256"),
        transform: Self.pin)
    package var pin: PublicKeyPin?

    package init() {}

    package func validate() throws {
        try EmptyValue.refuse(("--ca-file", caFile))
        guard caFile == nil || pin == nil else { throw ValidationError("--ca-file and --pin cannot be used together.") }
        try checkProxy()
    }

    private static let proxySchemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Checks the proxy URL. The empty text disables the proxy, whatever the environment says.
    private func checkProxy() throws {
        guard let proxy, !proxy.isEmpty else { return }
        guard let url = URLComponents(string: proxy), let scheme = url.scheme?.lowercased(),
            Self.proxySchemes.contains(scheme), url.host?.isEmpty == false
        else {
            // Omit the given value, because it may contain a password.
            throw ValidationError("--proxy must be a URL such as http://127.0.0.1:3128 or socks5h://127.0.0.1:1080.")
        }
    }

    /// The path of the certificate authorities; the file must contain at least one.
    package var authorities: String? {
        get throws(CommandFailure) {
            if let caFile { try Self.check(caFile: caFile) }
            return caFile
        }
    }

    /// Detects an error before connecting that would otherwise look like an unreachable server.
    package static func check(caFile: String) throws(CommandFailure) {
        guard access(caFile, R_OK) == 0 else {
            throw CommandFailure(.badData, "--ca-file \(caFile) cannot be read: \(String(cString: strerror(errno)))")
        }
        let text = String(decoding: FileManager.default.contents(atPath: caFile) ?? Data(), as: UTF8.self)
        let hasCertificate = text.components(separatedBy: "-----BEGIN ").contains { block in
            let parts = block.components(separatedBy: "-----")  // label, base64, end
            return parts.count > 2 && parts[0].hasSuffix("CERTIFICATE") && PublicKeyPin(certificate: parts[1]) != nil
        }
        guard hasCertificate else {
            throw CommandFailure(.badData, "--ca-file \(caFile) contains no certificate")
        }
    }

    private static func pin(_ text: String) throws(ValidationError) -> PublicKeyPin {
        guard let pin = PublicKeyPin(text) else {
            throw ValidationError("it takes sha256// and base64 of 32 bytes, or 64 hexadecimal digits.")
        }
        return pin
    }
}

extension Settings {
    package mutating func take(_ network: NetworkArguments) {
        (caFile, pin, proxy) = (network.caFile, network.pin.map { "\($0)" }, network.proxy)
    }

    package var pinnedKey: PublicKeyPin? { pin.flatMap { PublicKeyPin($0) } }

    /// Rejects invalid settings and combinations from any source.
    package func checkTrust() throws(CommandFailure) {
        if let caFile { try NetworkArguments.check(caFile: caFile) }
        guard pin == nil || usesTLS else {
            throw CommandFailure(.wrongUse, "--pin needs TLS, but the connection to \(serverName) does not use it")
        }
    }
}
