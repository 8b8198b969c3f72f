import CommandKit
import MatrixSDK

/// The recovery state of an account.
struct RecoveryRecord: OutputRecord {
    let identity: MXCrossSigning.State
    let backup: MXKeyBackup.State
    let recovery: MXRecoveryService.Status

    var json: String {
        var line = JSONLine(type: "recovery")
        line.add("device", identityName)
        line.add("backup", backupName)
        line.add("backup_version", backupVersion)
        line.add("recovery", recoveryName)
        return line.text
    }

    func text(style: TextStyle) -> TerminalText {
        let version = backupVersion.map { ", version \($0)" } ?? ""
        return "device  \(identityName)\nbackup  \(backupName)\(version)\nrecovery  \(recoveryName)"
    }

    private var identityName: String {
        switch identity {
        case .unknown: "unknown"
        case .notBootstrapped: "no cross-signing keys"
        case .crossSigningExists: "not verified"
        case .trustCrossSigning: "verified, cannot sign"
        case .canCrossSign: "verified"
        @unknown default: "unknown"
        }
    }

    private var backupName: String {
        switch backup {
        case .unknown: "unknown"
        case .disabled: "none"
        case .notTrusted: "not trusted"
        case .readyToBackUp: "in use"
        @unknown default: "unknown"
        }
    }

    private var backupVersion: String? {
        switch backup {
        case .notTrusted(let version), .readyToBackUp(let version): version
        case .unknown, .disabled: nil
        @unknown default: nil
        }
    }

    private var recoveryName: String {
        switch recovery {
        case .none: "none"
        case .unknown: "of an unknown kind"
        case .available(_, true): "weak: its passphrase can be guessed"
        case .available(true, false): "by recovery key or passphrase"
        case .available(false, false): "by recovery key"
        @unknown default: "unknown"
        }
    }
}
