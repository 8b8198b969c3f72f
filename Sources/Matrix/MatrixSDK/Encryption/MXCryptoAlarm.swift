import Basics
import Logging
package import MatrixEncryption
import PeerLog

/// Encryption events that the user must know about: others may be deceived about this device or a user, or the keys of
/// this login have become useless. Meanwhile, nothing is sent to keys in doubt.
///
///     for await alarm in crypto.alarms { show(alarm) }
@nonexhaustive
public enum MXCryptoAlarm: Sendable, Hashable {
    /// The homeserver reports other keys for this device than its own: others may encrypt for someone else.
    case ownKeysReplaced
    /// A user's identity differs from the one first seen, or accepted. If it is the session's own user, nothing that
    /// the new identity vouches for is trusted: verify this device, or recover, if the user has reset it.
    case identityChanged(userId: String)
    /// The homeserver reports other keys for a device than those first seen, which stay in use.
    case deviceKeysRefused(userId: String, deviceId: String)
    /// The homeserver has one-time keys of this device that are missing in its store, because an older store was put in
    /// its place: others can no longer reach the device. Log in as a new device.
    case uploadsRefused
    /// The store is a copy, or was restored from a backup. The keys used for sending are discarded; two copies in use
    /// interfere with each other.
    case storeWasCopied

    /// `nil` if the notice is not an alarm.
    package init?(_ notice: CryptoNotice) {
        switch notice {
        case .ownKeysReplaced: self = .ownKeysReplaced
        case .identityChanged(let user): self = .identityChanged(userId: user)
        case .deviceKeysRefused(let device): self = .deviceKeysRefused(userId: device.user, deviceId: device.device)
        case .oneTimeKeysRefused: self = .uploadsRefused
        case .storeWasCopied: self = .storeWasCopied
        case .roomKey, .withheld, .devicesChanged, .trustChanged, .signaturesRefused, .secretReceived, .backupChanged,
            .backupRefused, .backupRestored, .history, .toDevice, .verificationChanged, .dropped:
            return nil
        }
    }

    func report(to logger: Logger) {
        switch self {
        case .ownKeysReplaced:
            logger.report(.error, "the homeserver names other keys for this device than it has")
        case .identityChanged(let user):
            logger.report(
                .warning, "a user has another identity than before: verify the user again",
                ["matrix.user": "\(user)"])
        case .deviceKeysRefused(let user, let device):
            logger.report(
                .warning, "the homeserver names other keys for a device than before: they are not used",
                ["matrix.user": "\(user)", "matrix.device": "\(device)"])
        case .uploadsRefused:
            logger.report(
                .error,
                "the homeserver has other keys of this device: it cannot be reached any more. Log in as a new device")
        case .storeWasCopied:
            logger.report(
                .warning,
                """
                the store is a copy, or was put back from a backup: rooms get new keys. Use one copy only: each needs a login \
                of its own
                """)
        }
    }
}

extension MXCrypto {
    /// The alarms from this call on, until the session is closed. To receive alarms about the store, call this before
    /// setting it.
    public var alarms: AsyncStream<MXCryptoAlarm> { core.cryptoNotices(MXCryptoAlarm.init) }
}
