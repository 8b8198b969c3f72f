import MatrixKit
public import MatrixSDK
public import TerminalUI

/// A verification: two users compare seven emoji or numbers, and confirm that they match.
///
/// It starts with a request by the user, or with one from the other side that the user can accept. The other side is
/// notified however it ends.
@MainActor
open class MXKVerificationViewController: MXKViewController {
    private let manager: MXKeyVerificationManager
    private let crypto: MXCrypto
    private var current: MXKeyVerification?
    /// A pending request that the user has not seen yet.
    private var waiting: MXKeyVerification?
    private var follower: Task<Void, Never>?
    /// The result as text; `nil` while the verification is running.
    public private(set) var outcome: String?
    /// Called with the sender of a verification request. The request is not shown automatically, so that no key meant
    /// for a message answers it.
    public var onRequest: (@MainActor (_ words: String) -> Void)?

    /// Follows the verifications of a session; returns `nil` if it does not encrypt.
    public init?(_ session: MXSession) {
        guard let crypto = session.crypto else { return nil }
        (manager, self.crypto) = (crypto.keyVerificationManager, crypto)
        super.init()
        let changes = manager.changes()
        follower = Task { [weak self] in
            for await change in changes { self?.changed(change) }
        }
    }

    /// Whether there is something to show.
    public var isActive: Bool { current != nil || outcome != nil }

    /// Sends a request to another user's devices. If `userId` is `nil`, shows a pending request or sends one to the
    /// user's own devices.
    open func begin(with userId: String?) {
        outcome = nil
        if userId == nil, let request = waiting, manager.pendingRequests.contains(where: { $0.id == request.id }) {
            (current, waiting) = (request, nil)
            return setNeedsDisplay()
        }
        Task { [weak self, manager] in
            do {
                let begun = try await manager.requestVerificationByToDevice(withUserId: userId ?? manager.userId)
                self?.current = begun
            } catch {
                self?.outcome = "The verification did not begin: \(error)"
            }
            self?.setNeedsDisplay()
        }
    }

    private func changed(_ verification: MXKeyVerification) {
        if current?.id != verification.id {
            // Only one at a time.
            guard current == nil, verification.isIncoming, verification.state == .requested else { return }
            waiting = verification
            // The line may be short, so the command comes first.
            onRequest?("/verify: \(who(verification)) asks to be verified.")
            return
        }
        current = verification
        switch verification.state {
        case .ready(let canCompare, _, _):
            // The side that sent the request starts.
            if !verification.isIncoming {
                if canCompare {
                    act { try verification.startSAS() }
                } else {
                    end("The other side cannot compare pictures.")
                }
            }
        case .verified, .done: end(result(verification))
        case .cancelled(let reason, let byPeer):
            end("Nothing is verified: \(byPeer ? "the other side ended it" : "it was ended here"), \(reason).")
        case .requested, .exchanging, .comparing, .scanned, .reciprocated: break
        @unknown default: break
        }
        setNeedsDisplay()
    }

    private func act(_ work: () throws -> Void) {
        do {
            try work()
        } catch {
            end("Nothing is verified: \(error)")
        }
        setNeedsDisplay()
    }

    private func end(_ words: String) {
        outcome = words
        current = nil
    }

    /// Reports no more than was achieved: without cross-signing keys, only the device is verified, not its user.
    private func result(_ verification: MXKeyVerification) -> String {
        let device = verification.deviceId ?? "the other device"
        if verification.userId == manager.userId { return "Your device \(device) is verified." }
        let isUser = (try? crypto.trustLevel(forUser: verification.userId).isVerified) == true
        return isUser
            ? "\(verification.userId) is verified."
            : "Device \(device) of \(verification.userId) is verified, but not the user, who has no keys for that or has not "
                + "been signed by you: see pusher-cli matrix recovery."
    }

    private func who(_ verification: MXKeyVerification) -> String {
        let isOwn = verification.userId == manager.userId
        let device = verification.deviceId.map { "device \($0)" } ?? "a device"
        return isOwn ? "Your \(device)" : "\(verification.userId), with \(device),"
    }

    // MARK: Drawing

    open override func draw(columns: Int, rows: Int) -> TerminalSurface {
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        var lines: [StyledText] = [StyledText("Verification", theme.style(.title)), StyledText()]
        func add(_ words: String, _ part: MXKTheme.Part? = nil) {
            let style = part.map { theme.style($0) } ?? .standard
            lines.append(StyledText(ScreenText.cleaned(words), style))
        }
        if let outcome {
            add(outcome)
            add("")
            add("Any key goes back.", .hint)
        } else if let current {
            describe(current, add)
        } else {
            add("Waiting…", .hint)
        }
        let layout = TextLayout(columns: columns, profile)
        var row = 0
        for text in lines {
            for line in layout.lines(text) where row < rows {
                surface.draw(line.fitted(to: columns), row: row)
                row += 1
            }
        }
        return surface
    }

    private func describe(_ verification: MXKeyVerification, _ add: (String, MXKTheme.Part?) -> Void) {
        switch verification.state {
        case .requested where verification.isIncoming:
            add("\(who(verification)) asks to be verified.", nil)
            add("", nil)
            add("Enter: go on.  Esc: decline.", .hint)
        case .requested: add("Waiting for the other side to accept.  Esc: end.", .hint)
        case .comparing(let emoji, let decimals, let isConfirmed):
            add("\(who(verification)) must show this:", nil)
            add("", nil)
            // Some terminals cannot show an emoji, so the names appear below.
            if !emoji.isEmpty {
                add(emoji.map(\.emoji).joined(separator: "   "), nil)
                add(emoji.map(\.name).joined(separator: " · "), nil)
            } else {
                add(decimals.map(String.init).joined(separator: "  "), nil)
            }
            add("", nil)
            add(
                isConfirmed ? "Waiting for the other side.  Esc: end." : "y: they are the same.  n: they are not.",
                .hint)
        case .reciprocated: add("Does the other device say that it is done?  y or n", nil)
        case .ready, .exchanging, .scanned: add("Waiting for the other side…  Esc: end.", .hint)
        case .verified, .done, .cancelled: break
        @unknown default: break
        }
    }

    // MARK: Keys

    open override func handle(_ input: TerminalInput) -> Bool {
        guard input.isKey else { return false }
        defer { setNeedsDisplay() }
        guard let verification = current else {
            outcome = nil
            return true
        }
        if input == .escape || input == .control("c") {
            act { try verification.cancel() }
            return true
        }
        switch (verification.state, input) {
        case (.requested, .enter) where verification.isIncoming: act { try verification.accept() }
        case (.comparing(_, _, isConfirmed: false), .text("y")): act { try verification.confirmSASMatch() }
        case (.comparing(_, _, isConfirmed: false), .text("n")): act { try verification.cancel(isMismatch: true) }
        case (.reciprocated, .text("y")): act { try verification.confirmScanned() }
        case (.reciprocated, .text("n")): act { try verification.cancel(isMismatch: true) }
        case (_, _): break
        }
        return true
    }

    open override func destroy() {
        follower?.cancel()
        try? current?.cancel()
        super.destroy()
    }
}
