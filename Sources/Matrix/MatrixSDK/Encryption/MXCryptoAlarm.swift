import Basics
import Logging
package import MatrixEncryption
import PeerLog

/// What a user must hear of encryption: others may be deceived about this device or a user, or the keys of this login are of
/// no use any more. Nothing is sent to keys that are in doubt meanwhile.
///
///     for await alarm in crypto.alarms { show(alarm) }
@nonexhaustive
public enum MXCryptoAlarm: Sendable, Hashable {
    /// The homeserver names other keys for this device than it has: others may encrypt for somebody else.
    case ownKeysReplaced
    /// A user has another identity than the one that was seen first, or accepted. If it is the session's own user, nothing is
    /// trusted that the new one vouches for: verify this device, or recover, if the user has reset it.
    case identityChanged(userId: String)
    /// The homeserver names other keys for a device than those that were seen first, which stay in use.
    case deviceKeysRefused(userId: String, deviceId: String)
    /// The homeserver has one-time keys of this device that its store does not have, because an older store was put in its
    /// place: others cannot reach the device any more. Log in as a new device.
    case uploadsRefused
    /// The store is a copy, or was put back from a backup. What was sent with is given up; two copies in use hinder each other.
    case storeWasCopied

    /// Nil if it is none.
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
    /// Alarms from this call on, until the session is closed. Call it before the store is set to hear of the store, too.
    public var alarms: AsyncStream<MXCryptoAlarm> { core.cryptoNotices(MXCryptoAlarm.init) }
}
