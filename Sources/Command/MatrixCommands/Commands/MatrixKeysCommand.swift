import ArgumentParser
import CommandKit
import Foundation
import MatrixSDK

struct MatrixKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Back up the keys of encrypted messages, or take them to another client.",
        subcommands: [Export.self, Import.self, MatrixKeyBackupCommand.self, MatrixKeyRestoreCommand.self])

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write all keys of messages to a file, protected by a password.",
            discussion: """
                Other Matrix clients read such files. Whoever has the file and the password can read all messages that you \
                can read now.

                Example:
                  pusher-cli matrix keys export keys.txt
                """)

        @Argument(help: "The file to write; only you can read it.", completion: .file())
        var file: String

        @Flag(help: "Replace an existing file.")
        var force = false

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @OptionGroup var network: NetworkArguments

        func run() async throws {
            let url = URL(filePath: file)
            guard force || !FileManager.default.fileExists(atPath: url.path) else {
                throw CommandFailure(.badData, "\(file) already exists: --force replaces it")
            }
            let account = try network.matrixAccount()
            let typed =
                passwordStdin
                ? try SecretInput.fromStandardInput("password")
                : try SecretInput.typedTwice("New password for the file: ")
            guard let password = typed else { throw CommandFailure(.interrupted, "interrupted: nothing was written") }
            let keys = try await account.withKeys { session in
                guard let crypto = session.crypto else { return Data() }
                return try await crypto.exportRoomKeys(withPassword: password)
            }
            do throws(CommandFailure) {
                try UserFile.replace(url, with: keys)
            } catch {
                throw CommandFailure(.badData, error.description)
            }
            _ = StandardOutput.write(TerminalText(url.path))
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Take keys from a file that another client has written.",
            discussion: """
                Messages that could not be read before can be read then. Nothing proves who wrote messages that are read with \
                such keys.

                Example:
                  pusher-cli matrix keys import element-keys.txt
                """)

        @Argument(help: "The file.", completion: .file())
        var file: String

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @OptionGroup var network: NetworkArguments

        func run() async throws {
            guard let keys = FileManager.default.contents(atPath: file) else {
                throw CommandFailure(.badData, "\(file) cannot be read")
            }
            let account = try network.matrixAccount()
            let typed =
                passwordStdin
                ? try SecretInput.fromStandardInput("password") : try SecretInput.typed("Password of the file: ")
            guard let password = typed else { throw CommandFailure(.interrupted, "interrupted: nothing was imported") }
            let (total, imported) = try await account.withKeys { session in
                guard let crypto = session.crypto else { return (0, 0) }
                return try await crypto.importRoomKeys(keys, withPassword: password)
            }
            _ = StandardOutput.write("\(imported) of \(total) keys are new")
        }
    }
}
