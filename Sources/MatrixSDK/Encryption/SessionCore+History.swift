import CurlTransport
import Foundation
import JSONBytes
import Logging
import MatrixEncryption
import MatrixProtocol
import PeerLog

/// Keys of what was said in a room before somebody was invited, for those who may read that (client-server API 1.19, "Sharing
/// room keys with newly invited users").
extension SessionCore {
    /// Bytes of a bundle that are downloaded at most: some 50,000 keys.
    private static let maximumBundleSize = 32 << 20

    /// Invites a user. In an encrypted room whose history new members may read, they are given its keys first.
    ///
    /// What cannot be given keeps nobody from being invited.
    func invite(_ userId: String, to roomId: String, reason: String?) async throws {
        do {
            try await giveHistory(of: roomId, to: userId)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            options.logger?.report(
                .warning, "a user who is invited cannot be given the keys of earlier messages",
                ["matrix.room": "\(roomId)", "matrix.reason": "\(error)"])
        }
        try await rest.inviteUser(userId, toRoom: roomId, reason: reason)
    }

    private func giveHistory(of roomId: String, to userId: String) async throws {
        guard account.encrypts, try account.isEncrypted(roomId),
            let visibility = try account.read(roomId, { _, state in state?.historyVisibility }),
            visibility == .shared || visibility == .worldReadable,
            let bundle = try encryption({ machine, turn, _, _ in try machine.historyBundle(of: roomId, &turn) })
        else { return }
        var encryptor = AttachmentEncryptor(random: .system)
        let ciphertext = bundle.withUnsafeBytes { encryptor.encrypt(Array($0)) }
        var file = encryptor.finish()
        file.url = try await rest.uploadContent(Data(ciphertext))
        let uploaded = file
        try cryptoCommand { machine, turn in
            try machine.shareHistory(of: roomId, file: uploaded, with: userId, &turn)
        }
    }

    /// Takes the keys that the user has offered who has invited this one to a room.
    func takeHistory(of roomId: String) async {
        do {
            let offer = try encryption { machine, turn, _, _ in try machine.offeredHistory(of: roomId, &turn) }
            guard let offer, let url = offer.url else { return }
            let ciphertext = FileManager.default.temporaryDirectory.appending(path: "matrix-keys-" + UUID().uuidString)
            defer { unlink(ciphertext.path) }
            let download = try await rest.downloadContent(url, to: ciphertext, maximumSize: Self.maximumBundleSize)
            let bytes = Array(try Data(contentsOf: download.file))
            var check = AttachmentCheck(of: offer)
            check.update(bytes)
            var decryptor = try check.finish()
            let bundle = SecretBytes(decryptor.decrypt(bytes))
            try cryptoCommand { machine, turn in _ = try machine.importHistory(bundle, of: roomId, &turn) }
        } catch {
            options.logger?.report(
                .warning, "the keys of earlier messages that were offered cannot be taken",
                ["matrix.room": "\(roomId)", "matrix.reason": "\(error)"])
        }
    }
}

extension CryptoMachine {
    /// Notes by whom the user was invited to the rooms that an answer to a sync shows as joined.
    ///
    /// - Parameter model: As of before the answer.
    mutating func noteJoins(
        in response: SyncResponse, before model: SessionModel, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for room in response.joined {
            guard let summary = model.rooms[room.roomId]?.summary, summary.membership == .invite,
                let inviter = summary.inviter
            else { continue }
            try noteJoined(room.roomId, invitedBy: inviter, &turn)
        }
    }
}
