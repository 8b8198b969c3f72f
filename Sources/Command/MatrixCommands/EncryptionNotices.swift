import Basics
import CommandKit
import MatrixSDK

/// Encryption notices that commands print on standard error without being asked.
extension MatrixAccount {
    /// Reports each alarm of a session once.
    func watchAlarms(of session: MXSession) {
        let told = Lock<Set<MXCryptoAlarm>>([])
        _ = session.observeReports { report in
            guard case .notices(let notices) = report else { return }
            for case .encryption(let notice) in notices {
                guard let alarm = MXCryptoAlarm(notice), told.withLock({ $0.insert(alarm).inserted }) else { continue }
                StandardError.write("warning: \(alarm.advice(for: userID))")
            }
        }
    }

    /// Mentions that the device is not verified, once for each store.
    ///
    /// - Parameter file: The session's store; `nil` if another process has it, which reports this itself.
    func mentionVerification(of session: MXSession, in file: MXFileStore?) {
        guard let file, let advice = session.crypto?.crossSigning.state.advice,
            let note = try? file.note(Self.verificationNote) ?? "", note.isEmpty
        else { return }
        StandardError.write(advice)
        try? file.setNote(Self.verificationNote, "said")
    }

    /// Like ``mentionVerification(of:in:)``, for a running session, as soon as the homeserver has provided the state.
    func mentionVerificationOnceKnown(of session: MXSession, in file: MXFileStore?) async {
        guard let file, session.hasKeys, let crypto = session.crypto else { return }
        while session.state != .closed {
            do {
                try await crypto.downloadKeys([userID])
                return mentionVerification(of: session, in: file)
            } catch {
                guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
            }
        }
    }

    /// The name of the note that records the mention.
    private static let verificationNote = "not verified"
}

extension MXCrossSigning.State {
    /// Whether this device is verified.
    var isVerified: Bool {
        switch self {
        case .trustCrossSigning, .canCrossSign: true
        case .unknown, .notBootstrapped, .crossSigningExists: false
        @unknown default: false
        }
    }

    /// Advice on verifying this device; `nil` if it is verified or its state is unknown.
    fileprivate var advice: TerminalText? {
        switch self {
        case .crossSigningExists:
            """
            this device is not verified: others may not share keys with it. Run pusher-cli matrix verify, or pusher-cli matrix \
            recovery use
            """
        case .notBootstrapped:
            """
            this device is not verified: you have no cross-signing keys yet, and others may not share keys with it. Run \
            pusher-cli matrix recovery create
            """
        case .unknown, .trustCrossSigning, .canCrossSign: nil
        }
    }
}

extension MXCryptoAlarm {
    /// Returns what has happened and what to do.
    fileprivate func advice(for me: String) -> TerminalText {
        switch self {
        case .ownKeysReplaced:
            """
            the homeserver names other keys for this device than it has: others may encrypt for somebody else. Ask whoever \
            runs the homeserver; a new login has new keys: pusher-cli matrix keys export, pusher-cli matrix logout, \
            pusher-cli matrix login
            """
        case .identityChanged(me):
            """
            your own identity was replaced, and nothing that it vouches for is trusted. If you have reset it: pusher-cli matrix \
            verify, or pusher-cli matrix recovery use. If not, somebody has your password: change it, then run pusher-cli \
            matrix recovery create --reset
            """
        case .identityChanged(let user):
            """
            \(user) has another identity than before: the user has reset it, or somebody poses as the user. To be sure, run \
            pusher-cli matrix verify --user \(user)
            """
        case .deviceKeysRefused(let user, let device):
            """
            the homeserver names other keys for device \(device) of \(user) than before: they are not used. If the user \
            knows nothing of that device, nor of a reason, somebody may be trying to read along
            """
        case .uploadsRefused:
            """
            the homeserver has other keys of this device, as after its store was lost or put back: it cannot be reached any \
            more. Log in as a new device: pusher-cli matrix keys export, pusher-cli matrix logout, pusher-cli matrix login
            """
        case .storeWasCopied:
            """
            the store is a copy, or was put back from a backup: rooms get new keys. Use one copy only; each needs a login of \
            its own: pusher-cli matrix login
            """
        }
    }
}
