import ArgumentParser
import CommandKit
import PusherProtocol

struct DecryptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt", abstract: "Decrypt the data of an event on an encrypted channel.",
        discussion: """
            Prints the text that was published. Exit status 65 if the key does not decrypt it.

            Example:
              pusher-cli decrypt private-encrypted-orders '{"nonce":"…","ciphertext":"…"}'
            """)

    @OptionGroup var key: ChannelKeyOptions

    @Argument(help: "JSON with nonce and ciphertext; - reads standard input.")
    var data: String

    func run() async throws {
        let key = try key.key()
        let data = try Input.text(given: data)
        do throws(ChannelKey.Failure) {
            let text = try key.decrypt(data)
            // Programs that read the output get it byte for byte.
            _ =
                StandardOutput.isTerminal
                ? StandardOutput.write(TerminalText(text)) : StandardOutput.write((text + "\n").utf8)
        } catch {
            switch error {
            case .malformed:
                throw CommandFailure(.badData, "the data is not JSON with nonce and ciphertext, or contains no text")
            case .wrongKey: throw CommandFailure(.badData, "the data was encrypted with another key, or was changed")
            }
        }
    }
}
