import ArgumentParser
import Basics
import CommandKit
import MatrixSDK

struct MatrixRecoveryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery", abstract: "Read encrypted messages on a new device, with one key that you write down.",
        discussion: """
            The homeserver keeps your secret keys, and cannot read them: the recovery key, or a passphrase of yours, opens \
            them on a new device, which is verified and reads old messages then.

            Examples:
              pusher-cli matrix recovery status
              pusher-cli matrix recovery create
              pusher-cli matrix recovery use
            """,
        subcommands: [Status.self, Create.self, Use.self], defaultSubcommand: Status.self)

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Say whether this device is verified, and what a new device could recover from.")

        @OptionGroup var output: OutputOptions

        @OptionGroup var network: NetworkArguments

        func run() async throws {
            try await network.matrixAccount().withKeys { session in
                guard let crypto = session.crypto else { return }
                try await crypto.downloadKeys([session.myUserId], forceDownload: true)
                try await crypto.backup.refreshState()
                let record = RecoveryRecord(
                    identity: crypto.crossSigning.state, backup: crypto.backup.state,
                    recovery: try await crypto.recoveryService.status())
                _ = output.write(record)
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Set up recovery, and print the recovery key.",
            discussion: """
                Makes what is missing: your cross-signing keys, for which the homeserver may require your password, and the \
                backup of keys. Then prints a new recovery key, and stores them under it: write it down, it is not shown \
                again. Until the command says that recovery is set up, the former key may be the one in use.

                Examples:
                  pusher-cli matrix recovery create
                  pusher-cli matrix recovery create --passphrase
                """)

        @Flag(help: "Also ask for a passphrase that opens it.")
        var passphrase = false

        @Flag(help: "Replace an existing recovery: the former recovery key is void.")
        var force = false

        @Flag(
            help: """
                If no device of yours and no recovery key is left: replace your cross-signing keys and the backup, too. \
                Everybody who has verified you must do so again.
                """)
        var reset = false

        @Flag(help: "Read the account's password from standard input.")
        var passwordStdin = false

        @OptionGroup var network: NetworkArguments

        func run() async throws {
            let account = try network.matrixAccount()
            let secret = passphrase ? try newPassphrase() : nil
            try await account.withKeys { session in
                guard let crypto = session.crypto else { return }
                if !force, !reset, try await crypto.recoveryService.status() != .none {
                    throw CommandFailure(
                        .badData,
                        """
                        recovery is set up already: pusher-cli matrix recovery use takes its keys, and --force replaces it; \
                        nothing was changed
                        """)
                }
                try await makeIdentity(crypto, account)
                try await makeBackup(crypto.backup)
                try await makeRecovery(crypto.recoveryService, secret)
            }
        }

        /// Shows the key before it is used, so that no later failure can lose it.
        private func makeRecovery(_ service: MXRecoveryService, _ secret: String?) async throws {
            let isShown = Lock(false)
            do {
                _ = try await service.createRecovery(withPassphrase: secret, isReplacement: force || reset) { key in
                    StandardError.write("write this recovery key down and keep it safe; it is not shown again:")
                    guard StandardOutput.write(TerminalText(key)) else {
                        throw CommandFailure(
                            .unwritable, "the recovery key could not be printed: no recovery was set up")
                    }
                    isShown.withLock { $0 = true }
                }
            } catch  where isShown.withLock({ $0 }) && !(error is CancellationError) {
                throw CommandFailure(
                    (error as? any ReportableError)?.exitStatus ?? .unavailable,
                    """
                    \(Complaint.text(error)): nobody knows whether the recovery key above is in use. Keep it together with the \
                    former one, and run pusher-cli matrix recovery create --force
                    """)
            }
            StandardError.write("recovery is set up: the key is in use from now on")
        }

        private func newPassphrase() throws(CommandFailure) -> String {
            guard let typed = try SecretInput.typedTwice("New passphrase: ") else {
                throw CommandFailure(.interrupted, "interrupted: nothing was changed")
            }
            return typed
        }

        private func makeIdentity(_ crypto: MXCrypto, _ account: MatrixAccount) async throws {
            try await crypto.downloadKeys([account.userID], forceDownload: true)
            switch crypto.crossSigning.state {
            case .canCrossSign where !reset: return
            case .trustCrossSigning where !reset, .crossSigningExists where !reset:
                throw CommandFailure(
                    .badData,
                    """
                    this device does not have your cross-signing keys: run pusher-cli matrix recovery use, or verify it with \
                    pusher-cli matrix verify; if neither is possible, --reset makes new ones; nothing was changed
                    """)
            case .canCrossSign, .trustCrossSigning, .crossSigningExists, .notBootstrapped, .unknown: break
            @unknown default: break
            }
            _ = try await crypto.crossSigning.setup(isReset: reset)
                .completed(withPasswordOf: account.userID, orElse: "nothing was changed") { () throws(CommandFailure) in
                    let password =
                        passwordStdin
                        ? try SecretInput.fromStandardInput("password")
                        : try SecretInput.typed("Password of \(account.userID): ")
                    guard let password else { throw CommandFailure(.interrupted, "interrupted: nothing was changed") }
                    return password
                }
        }

        private func makeBackup(_ backup: MXKeyBackup) async throws {
            try await backup.refreshState()
            if backup.state == .disabled {
                try await backup.createKeyBackupVersion()
            } else if reset || !backup.hasPrivateKey || !backup.enabled {
                guard reset else {
                    throw CommandFailure(
                        .badData,
                        """
                        the homeserver has a backup of keys, and its key is not on this device: pusher-cli matrix keys restore \
                        takes it, and --reset makes a new backup; no recovery was set up
                        """)
                }
                try await backup.createKeyBackupVersion(isReplacement: true)
            }
        }
    }

    struct Use: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "use", abstract: "Take your keys with the recovery key, or the passphrase.",
            discussion: """
                This device is verified then, and reads old messages as far as their keys are in the backup.

                Example:
                  pusher-cli matrix recovery use
                """)

        @Flag(help: "Read the recovery key, or the passphrase, from standard input.")
        var keyStdin = false

        @OptionGroup var network: NetworkArguments

        func run() async throws {
            let account = try network.matrixAccount()
            let typed =
                keyStdin
                ? try SecretInput.fromStandardInput("recovery key")
                : try SecretInput.typed(
                    "Recovery key or passphrase: ", what: "recovery key", option: "--key-stdin")
            guard let key = typed else { throw CommandFailure(.interrupted, "interrupted: nothing was recovered") }
            try await account.withKeys { session in
                guard let crypto = session.crypto else { return }
                let result = try await crypto.recoveryService.recoverSecrets(with: key)
                guard !result.recovered.isEmpty else {
                    throw CommandFailure(
                        .refused,
                        "the key is right, but what it opens is not in use any more: nothing was recovered")
                }
                if !result.refused.isEmpty {
                    StandardError.write(
                        """
                        warning: not taken, since they do not belong to what is in use now: \
                        \(result.refused.joined(separator: ", "))
                        """)
                }
                if case .available(_, isWeak: true)? = try? await crypto.recoveryService.status() {
                    StandardError.write(
                        """
                        warning: whoever runs the homeserver could guess the passphrase of this recovery, whose key is made in \
                        too few rounds: pusher-cli matrix recovery create --force makes a new one
                        """)
                }
                let isVerified = crypto.crossSigning.state == .canCrossSign
                _ = StandardOutput.write(isVerified ? "this device is verified" : "this device is not verified")
                if crypto.backup.hasPrivateKey {
                    _ = StandardOutput.write(try await crypto.backup.restore().text)
                }
            }
        }
    }
}
