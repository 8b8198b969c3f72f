import ArgumentParser
import Basics
import MatrixEncryption
import MatrixSDK

struct MatrixVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verify another device of yours, or another user, by comparing emoji.",
        discussion: """
            Asks your other devices, or with --user the other user's, and shows what both must see: emoji with their names, \
            and numbers. Say yes only if the other side shows the same. An incoming request of that user is accepted. \
            With --qr, a code is shown that the other device can scan.

            Examples:
              pusher-cli matrix verify
              pusher-cli matrix verify --user @bob:example.org
            """)

    @Option(help: ArgumentHelp("The user to verify. Default: yourself, with another device.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("Ask only this device.", valueName: "id"))
    var device: String?

    @Flag(help: "Show a code for the other device to scan.")
    var qr = false

    @Option(help: "Give up after this many seconds.")
    var timeout = 300.0

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        if let user { try UserID.validate([user]) }
        try Seconds.check("--timeout", timeout)
    }

    func run() async throws {
        let account = try matrix.account()
        let user = user ?? account.userID
        try await account.withRunningKeys { session in
            guard let manager = session.crypto?.keyVerificationManager else { return }
            let changes = manager.changes()
            let begun = try await manager.requestVerificationByToDevice(withUserId: user, deviceId: device)
            StandardError.write("waiting for \(device ?? "another device") of \(user) to accept")
            let isLate = Lock(false)
            let deadline = Task {
                try await Task.sleep(for: .seconds(timeout))
                isLate.withLock { $0 = true }
                try begun.cancel()
            }
            defer { deadline.cancel() }
            for await change in changes where change.userId == user {
                if case .cancelled = change.state, isLate.withLock({ $0 }) {
                    throw CommandFailure(.timedOut, "not verified: not done within \(Seconds.text(timeout))")
                }
                if try step(change, isOurs: change.id == begun.id) { return }
            }
        }
    }

    /// - Returns: Whether it is over, and the other side is trusted.
    private func step(_ verification: MXKeyVerification, isOurs: Bool) throws -> Bool {
        switch verification.state {
        case .requested:
            if verification.isIncoming { try verification.accept() }
        case .ready(let canCompare, _, let code):
            if qr, let code {
                try show(code)
            } else if canCompare, isOurs {
                try verification.startSAS()
            }
        case .exchanging, .scanned: break
        case .comparing(let emoji, let decimals, let isConfirmed):
            guard !isConfirmed else { break }
            show(emoji, decimals)
            try agrees("Does the other side show the same? [y/N] ")
                ? verification.confirmSASMatch() : verification.cancel(isMismatch: true)
        case .reciprocated:
            try agrees("Does the other device say that it is done? [y/N] ")
                ? verification.confirmScanned() : verification.cancel(isMismatch: true)
        case .verified, .done:
            let device = verification.deviceId.map { ", device \($0)" } ?? ""
            _ = StandardOutput.write("verified \(verification.userId)\(device)")
            return true
        case .cancelled(let reason, let byPeer):
            throw CommandFailure(
                .refused, "not verified: \(byPeer ? "the other side has cancelled" : "cancelled"): \(reason)")
        @unknown default: break
        }
        return false
    }

    private func show(_ emoji: [MXEmojiRepresentation], _ decimals: [Int]) {
        if !emoji.isEmpty {
            _ = StandardOutput.write(
                TerminalText(emoji.map { "\($0.emoji) \($0.name)" }.joined(separator: "   ")))
        }
        if !decimals.isEmpty { _ = StandardOutput.write("\(decimals.map(String.init).joined(separator: " "))") }
    }

    private func show(_ code: [UInt8]) throws {
        let code = try QRCode(code)
        for line in code.lines() { _ = StandardOutput.write(TerminalText(line)) }
        StandardError.write("scan this with the other device")
    }

    private func agrees(_ question: TerminalText) throws -> Bool {
        guard let answer = try SecretInput.typed(question, what: "answer", isShown: true) else {
            return false
        }
        return ["y", "yes"].contains(answer.lowercased())
    }
}
