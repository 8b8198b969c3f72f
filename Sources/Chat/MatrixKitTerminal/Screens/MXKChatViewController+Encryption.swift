import Basics
import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// Commands about keys and devices.
extension MXKChatViewController {
    private static let noEncryption = "This session does not encrypt: it has no keys."

    /// `/devices`
    func showDevices(_ session: MXSession) {
        let dialog = MXKDialogViewController("Devices of \(session.ownUserId)")
        dialog.placeholder = "Asking the homeserver…"
        show(dialog)
        Task { [weak dialog] in
            do {
                let devices = try await session.matrixRestClient.devices()
                let formatter = MXKEventFormatter(matrixSession: session)
                dialog?.words = ["To remove one: pusher-cli matrix devices --help."]
                dialog?.rows = devices.map { device in
                    let isThis = device.deviceId == session.credentials?.deviceId
                    let info =
                        (try? session.crypto?.device(withDeviceId: device.deviceId, ofUser: session.ownUserId)) ?? nil
                    let trust =
                        isThis ? "this device" : info.map { $0.verification == .verified ? "verified" : "not verified" }
                    let seen = device.lastSeenTs.flatMap { formatter.dateString(fromTimestamp: $0, withTime: true) }
                    let words = [device.deviceId, device.displayName, trust, seen].compactMap { $0 }
                    return .init(words.joined(separator: "  ")) {}
                }
            } catch {
                dialog?.placeholder = "The devices could not be had: \(error)"
            }
        }
    }

    /// `/keys export PATH` and `/keys import PATH`
    func exchangeKeys(_ command: MXKCommand, _ session: MXSession) {
        guard let verb = command.words.first, ["export", "import"].contains(verb), let rest = command.afterFirstWord
        else { return refuse(command, usage(of: command)) }
        guard let crypto = session.crypto else { return refuse(command, Self.noEncryption) }
        let path = NSString(string: rest).expandingTildeInPath
        let exists = FileManager.default.fileExists(atPath: path)
        if verb == "import" {
            guard let keys = FileManager.default.contents(atPath: path) else {
                return refuse(command, "There is no file \(path) that can be read.")
            }
            ask("Password of \(path)") { [weak self] password in
                self?.perform("The keys were not taken") {
                    let (total, imported) = try await crypto.importRoomKeys(keys, withPassword: password)
                    self?.room.show("\(imported) of \(total) keys are new.")
                }
            }
            return
        }
        guard !exists else { return refuse(command, "\(path) is there already.") }
        ask("New password for \(path)") { [weak self] password in
            self?.ask("The same password again") { again in
                guard password == again else {
                    self?.refuse(command, "The passwords are not the same: nothing was written.")
                    return
                }
                self?.perform("The keys were not written") {
                    let keys = try await crypto.exportRoomKeys(withPassword: password)
                    try MatrixError.ofFile { () throws(PrivateFileError) in
                        try PrivateFile(path).replace(with: keys)
                    }
                    self?.room.show("All keys are in \(path). Whoever has the password can read your messages with it.")
                }
            }
        }
    }

    private func ask(_ title: String, _ take: @escaping @MainActor (String) -> Void) {
        show(MXKDialogViewController(title, entry: .secret(take)))
    }

    /// `/backup`
    func backUp(_ session: MXSession) {
        guard let backup = session.crypto?.backup else { return room.show(Self.noEncryption) }
        room.show("Asking about the backup…")
        perform("The backup could not be written") { [weak self] in
            try await backup.refreshState()
            switch backup.state {
            case .unknown, .disabled:
                self?.room.show("There is no backup of your keys: pusher-cli matrix recovery create makes one.")
            case .notTrusted(let version):
                self?.room.show(
                    "Nobody whom this device trusts vouches for the backup (version \(version)): nothing was written. "
                        + "Verify this device first: /verify.")
            case .readyToBackUp(let version):
                try await backup.backupAllGroupSessions()
                self?.room.show("All keys are in the backup (version \(version)).")
            @unknown default: break
            }
        }
    }

    /// `/rotate`
    func rotateKeys(_ command: MXKCommand, _ session: MXSession) {
        guard let crypto = session.crypto else { return refuse(command, Self.noEncryption) }
        guard let target = currentRoom, target.summary.isEncrypted else {
            return refuse(command, "This room is not encrypted.")
        }
        do {
            try crypto.discardOutboundGroupSessionForRoom(withRoomId: target.roomId)
            room.show("The next message here is encrypted with a new key.")
        } catch {
            refuse(command, "The key was not changed: \(error)")
        }
    }
}
