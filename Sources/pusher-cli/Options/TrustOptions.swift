import ArgumentParser
import Foundation
import Transport

/// Which servers are trusted: the same for every command that connects.
struct TrustOptions: ParsableArguments {
    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.", completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            """
            Trust only a server with this public key, whatever its certificate says. Give the SHA-256 of the key as \
            sha256//BASE64 or in hexadecimal; pusher-cli doctor prints it.
            """, valueName: "sha256"),
        transform: Self.pin)
    var pin: PublicKeyPin?

    func validate() throws {
        guard caFile == nil || pin == nil else { throw ValidationError("--ca-file and --pin cannot be used together.") }
    }

    /// For commands with `--no-tls`.
    func check(tls: Bool) throws(ValidationError) {
        guard tls || pin == nil else { throw ValidationError("--pin needs TLS and cannot be used with --no-tls.") }
    }

    private static func pin(_ text: String) throws(ValidationError) -> PublicKeyPin {
        guard let pin = PublicKeyPin(text) else {
            throw ValidationError("it takes sha256// and base64 of 32 bytes, or 64 hexadecimal digits.")
        }
        return pin
    }
}

extension Settings {
    mutating func take(_ trust: TrustOptions) throws(CommandFailure) {
        (caFile, pin) = (trust.caFile, trust.pin.map { "\($0)" })
        guard let caFile, access(caFile, R_OK) != 0 else { return }
        // The same mistake has the same status in every command.
        throw CommandFailure(.badData, "--ca-file \(caFile) cannot be read: \(String(cString: strerror(errno)))")
    }

    var pinnedKey: PublicKeyPin? { pin.flatMap { PublicKeyPin($0) } }
}
