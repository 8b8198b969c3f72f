import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixKeyBackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Show the backup of keys on the homeserver, make one, or delete it.",
        discussion: """
            The homeserver keeps the keys of messages, and cannot read them. Without an option, says whether there is a \
            backup, writes the keys that wait for it, and says how many are left.

            Use pusher-cli matrix recovery create instead of --create to get a backup together with the recovery key that \
            opens it on another device. A recovery key that you have already does not open a backup made with --create.

            Examples:
              pusher-cli matrix keys backup
              pusher-cli matrix keys backup --create
            """)

    @Flag(help: "Make a backup.")
    var create = false

    @Flag(help: "With --create: replace an existing backup.")
    var force = false

    @Flag(help: "Delete the backup, and those before it.")
    var delete = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard !create || !delete else { throw ValidationError("--create and --delete cannot be used together.") }
        guard !force || create else { throw ValidationError("--force needs --create.") }
    }

    func run() async throws {
        try await network.matrixAccount().withKeys { session in
            guard let crypto = session.crypto else { return }
            let backup = crypto.backup
            if delete {
                try await backup.deleteKeyBackupVersion()
                _ = StandardOutput.write("deleted: the homeserver has no backup of keys any more")
                return
            }
            try await backup.refreshState()
            if create {
                guard force || backup.state == .disabled else {
                    throw CommandFailure(
                        .badData, "there is a backup already: --force replaces it; nothing was changed")
                }
                try await backup.createKeyBackupVersion(isReplacement: force)
                if let recovery = try? await crypto.recoveryService.status(), recovery != .none {
                    StandardError.write(
                        """
                        warning: the recovery key does not open this backup: pusher-cli matrix recovery create --force makes \
                        one that does
                        """)
                }
            }
            switch backup.state {
            case .unknown, .disabled:
                _ = StandardOutput.write("no backup: --create makes one")
            case .notTrusted(let version):
                throw CommandFailure(
                    .refused,
                    """
                    the homeserver has a backup (version \(version)) for which nobody vouches whom this device trusts: \
                    nothing is written to it. Run pusher-cli matrix recovery use, or pusher-cli matrix verify
                    """)
            case .readyToBackUp(let version):
                try await backup.backupAllGroupSessions()
                _ = StandardOutput.write("backup version \(version): all keys are in it")
            @unknown default: break
            }
        }
    }
}

struct MatrixKeyRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Take all keys from the backup on the homeserver.",
        discussion: """
            Messages that could not be read before can be read then. Nothing proves who wrote messages that are read with \
            such keys.

            The backup's key is here after pusher-cli matrix recovery use or pusher-cli matrix verify; otherwise the command \
            asks for the backup's own recovery key.

            Example:
              pusher-cli matrix keys restore
            """)

    @Flag(help: "Read the backup's recovery key from standard input.")
    var keyStdin = false

    @OptionGroup var network: NetworkArguments

    func run() async throws {
        try await network.matrixAccount().withKeys { session in
            guard let backup = session.crypto?.backup else { return }
            try await backup.refreshState()
            guard backup.state != .disabled else {
                throw CommandFailure(.badData, "the homeserver has no backup of keys: nothing was restored")
            }
            var key: String?
            if keyStdin {
                key = try SecretInput.fromStandardInput("recovery key")
            } else if !backup.hasPrivateKey {
                key = try SecretInput.typed("Recovery key of the backup: ", what: "recovery key", option: "--key-stdin")
            }
            guard key != nil || backup.hasPrivateKey else {
                throw CommandFailure(.interrupted, "interrupted: nothing was restored")
            }
            _ = StandardOutput.write(try await backup.restore(withRecoveryKey: key).text)
        }
    }
}

extension MXKeyBackup.Restoration {
    /// A summary such as `120 of 120 keys are new`.
    var text: TerminalText {
        damaged == 0
            ? "\(imported) of \(total) keys are new"
            : "\(imported) of \(total) keys are new; \(damaged) could not be read"
    }
}
