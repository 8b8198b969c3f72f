import ArgumentParser
import CommandKit
import PusherProtocol

struct EncryptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Encrypt the data of an event on an encrypted channel.",
        discussion: """
            Prints the data to publish: JSON with nonce and ciphertext, different each time. trigger encrypts \
            automatically.

            Example:
              pusher-cli encrypt private-encrypted-orders '{"total":7}'
            """)

    @OptionGroup var key: ChannelKeyOptions

    @Argument(help: "The text to encrypt; - reads standard input.")
    var data: String

    func run() async throws {
        _ = StandardOutput.write(json: try key.key().encrypt(try Input.text(given: data)))
    }
}
