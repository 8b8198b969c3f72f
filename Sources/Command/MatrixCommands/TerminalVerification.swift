import Basics
import CommandKit
import MatrixEncryption
import MatrixSDK

/// A verification with questions at the terminal.
///
/// The other side is notified however it ends.
struct TerminalVerification: Sendable {
    /// The user on the other side.
    let user: String
    /// The only device to verify, if given.
    let device: String?
    /// Whether to show a code for the other side to scan.
    let showsCode: Bool
    let timeout: Duration
    let me: (user: String, device: String)

    static let interrupted = CommandFailure(
        .interrupted, "interrupted: nothing is verified, and the other side is told; run the command again to try again"
    )

    /// The way in which our user has ended it.
    private enum Ending {
        case interrupted
        case mismatch
    }

    /// - Parameter session: A session that keeps syncing.
    func run(in session: MXSession) async throws {
        guard let crypto = session.crypto else { return }
        let changes = crypto.keyVerificationManager.changes()
        let verified = try await withDeadline(timeout) {
            CommandFailure(.timedOut, "not verified: not done within \(Seconds.text(timeout / .seconds(1)))")
        } _: {
            try await follow(changes, crypto)
        }
        await session.settleEncryption()  // only now is it known whether the homeserver accepted our signatures
        try report(verified, crypto)
    }

    /// - Returns: The verification once this side has verified the other.
    private func follow(
        _ changes: AsyncStream<MXKeyVerification>, _ crypto: MXCrypto
    ) async throws -> MXKeyVerification {
        var current = try await begin(crypto.keyVerificationManager)
        let ending = Lock<Ending?>(nil)
        do {
            return try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                for await change in changes {
                    if change.id != current.id, try !takes(change, insteadOf: current) { continue }
                    current = change
                    switch change.state {
                    case .requested, .exchanging, .scanned: break
                    case .ready(let canCompare, _, let code): try start(change, canCompare: canCompare, code, crypto)
                    case .comparing(let emoji, let decimals, let isConfirmed):
                        guard !isConfirmed else { break }
                        show(emoji, decimals, of: change, crypto)
                        group.addTask {
                            try ask("Does the other side show the same? [y/n] ", of: change, ending) {
                                try change.confirmSASMatch()
                            }
                        }
                    case .reciprocated:
                        group.addTask {
                            try ask("Does the other device say that it is done? [y/n] ", of: change, ending) {
                                try change.confirmScanned()
                            }
                        }
                    case .verified, .done: return change
                    case .cancelled(let reason, let byPeer):
                        throw failure(ending.withLock { $0 }, reason, byPeer: byPeer)
                    @unknown default: break
                    }
                }
                throw Self.interrupted
            }
        } catch {
            try? current.cancel()
            throw error
        }
    }

    // MARK: Choosing the verification

    private func begin(_ manager: MXKeyVerificationManager) async throws -> MXKeyVerification {
        if let request = manager.pendingRequests.first(where: isMeant) {
            try request.accept()
            return request
        }
        let begun = try await manager.requestVerificationByToDevice(withUserId: user, deviceId: device)
        StandardError.write("waiting for \(device ?? "another device") of \(user) to accept")
        return begun
    }

    /// Returns whether this is a request from the other side.
    private func isMeant(_ verification: MXKeyVerification) -> Bool {
        verification.isIncoming && verification.state == .requested && verification.userId == user
            && (device == nil || verification.deviceId == device)
    }

    /// Returns whether to accept a request from the other side instead of ours.
    ///
    /// If both sides send a request at the same time, that of the smaller id counts, first by user, then by device:
    /// each side knows which one the other drops.
    private func takes(
        _ request: MXKeyVerification, insteadOf current: MXKeyVerification
    ) throws(MatrixError) -> Bool {
        guard isMeant(request), current.state == .requested, !current.isIncoming else { return false }
        let other = (request.userId, request.deviceId ?? "")
        guard other < me else {
            StandardError.write(
                "device \(other.1) of \(user) asks for a verification, too: accept the request of this device there")
            return false
        }
        try current.cancel()
        try request.accept()
        return true
    }

    // MARK: Steps

    private func start(
        _ verification: MXKeyVerification, canCompare: Bool, _ code: [UInt8]?, _ crypto: MXCrypto
    ) throws {
        if showsCode {
            if let code { return try show(code, for: verification, crypto) }
            StandardError.write("there is no code that \(name(of: verification, crypto)) could scan")
        }
        // The side that sent the request starts.
        if canCompare {
            if !verification.isIncoming { try verification.startSAS() }
        } else if !showsCode {
            throw CommandFailure(.refused, "not verified: the other side cannot compare emoji: try --qr")
        } else {
            throw CommandFailure(.refused, "not verified: the two sides have no way in common")
        }
    }

    private func name(of verification: MXKeyVerification, _ crypto: MXCrypto) -> TerminalText {
        guard let id = verification.deviceId else { return "a device of \(user)" }
        let name = try? crypto.device(withDeviceId: id, ofUser: user)?.displayName
        return name.map { "device \(id) of \(user), which calls itself \"\($0)\"" } ?? "device \(id) of \(user)"
    }

    private func show(
        _ emoji: [MXEmojiRepresentation], _ decimals: [Int], of verification: MXKeyVerification, _ crypto: MXCrypto
    ) {
        StandardError.write("\(name(of: verification, crypto)) must show this:")
        if !emoji.isEmpty {
            _ = StandardOutput.write(
                TerminalText(emoji.map { "\($0.emoji) \($0.name)" }.joined(separator: "   ")))
        }
        if !decimals.isEmpty { _ = StandardOutput.write("\(decimals.map(String.init).joined(separator: " "))") }
    }

    private func show(_ code: [UInt8], for verification: MXKeyVerification, _ crypto: MXCrypto) throws {
        let code = try QRCode(code)
        for line in code.lines() { _ = StandardOutput.write(TerminalText(line)) }
        StandardError.write("scan this with \(name(of: verification, crypto))")
    }

    /// Asks a question. The answer may come too late: the verification has then ended, which is reported.
    private func ask(
        _ question: TerminalText, of verification: MXKeyVerification, _ ending: Lock<Ending?>, ifYes: () throws -> Void
    ) throws {
        let answer = try? TerminalQuestion.answer(question, withoutTerminal: "there is no terminal any more")
        switch answer {
        case true: try? ifYes()
        case false:
            ending.withLock { $0 = .mismatch }
            try? verification.cancel(isMismatch: true)
        case nil:
            ending.withLock { $0 = .interrupted }
            try? verification.cancel()
        }
    }

    private func failure(_ ending: Ending?, _ reason: String, byPeer: Bool) -> CommandFailure {
        if byPeer {
            return CommandFailure(
                .refused, "not verified: the other side has cancelled: \(reason) Run the command again to try again")
        }
        return switch ending {
        case .interrupted: Self.interrupted
        case .mismatch:
            CommandFailure(
                .refused,
                """
                not verified: the two sides do not show the same. Somebody may stand between them; the other side is told. \
                Try again, and if it happens again, do not trust this device
                """)
        case nil: CommandFailure(.refused, "not verified: \(reason) Run the command again to try again")
        }
    }

    // MARK: The result

    /// Reports the result, which depends on the keys of this device.
    private func report(_ verification: MXKeyVerification, _ crypto: MXCrypto) throws {
        let id = verification.deviceId ?? ""
        let isDeviceVerified = try crypto.device(withDeviceId: id, ofUser: user)?.verification == .verified
        let trust = try crypto.trustLevel(forUser: user)
        if trust.isVerified {
            _ = StandardOutput.write(isDeviceVerified ? "verified \(user), device \(id)" : "verified \(user)")
            return
        }
        if isDeviceVerified {
            _ = StandardOutput.write("verified device \(id) of \(user), for this device only")
        }
        guard user != me.user else {
            return StandardError.write(
                """
                warning: your other devices do not learn of it, since you have no cross-signing keys: pusher-cli matrix \
                recovery create makes them
                """)
        }
        throw CommandFailure(
            .refused,
            trust.hasIdentity
                ? """
                \(user) is not verified: this device does not have your cross-signing keys, which vouch for other users. Run \
                pusher-cli matrix recovery use, or recovery create if you have none, then verify again
                """
                : """
                \(user) is not verified, only this device: the user has no cross-signing keys, which vouch for all devices
                """)
    }
}
