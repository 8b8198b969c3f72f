import ArgumentParser
import CommandKit
import PusherHTTP

struct WebhookVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check a webhook's signature, and print its events.",
        discussion: """
            Reads the body as it was received, byte for byte. Exit status: 0 if the webhook comes from the server; 77 \
            if the key or the signature is wrong; 65 if it is signed but is not a webhook, or was not made within the \
            last ten minutes (--maximum-age, --any-age). Client events of encrypted channels are decrypted with the \
            encryption master key.

            Example:
              pusher-cli webhook verify body.json --signature c19001ae… --json
            """)

    @Argument(help: "The file with the body; - reads standard input.", completion: .file())
    var file = "-"

    @Option(help: "The header X-Pusher-Signature.")
    var signature: String

    @Option(help: "The header X-Pusher-Key. Default: the application's key.")
    var headerKey: String?

    @Option(
        help: ArgumentHelp(
            "Refuse a webhook whose time differs from now by more than this many seconds.", valueName: "seconds"))
    var maximumAge = 600.0

    @Flag(help: "Accept a webhook of any age, such as a recorded one.")
    var anyAge = false

    @OptionGroup var output: OutputOptions

    @OptionGroup var credentials: CredentialOptions
    @OptionGroup var masterKey: MasterKeyOption

    func validate() throws {
        try Seconds.check("--maximum-age", maximumAge)
    }

    func run() async throws {
        let settings = try credentials.settings(masterKey)
        try settings.require(.key, .secret)
        let (key, secret) = (settings.key ?? "", settings.secret ?? "")
        let webhook = try PusherWebhook(
            body: try Input.bytes(of: file, limit: Input.maximumMessage), key: headerKey ?? key, signature: signature,
            secrets: [key: secret],
            encryptionMasterKey: settings.encryptionMasterKey,
            maximumAge: anyAge ? nil : .seconds(maximumAge))
        for event in webhook.events {
            _ = output.write(WebhookRecord(event, at: webhook.time))
        }
    }
}
