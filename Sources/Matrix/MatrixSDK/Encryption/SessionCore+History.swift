import CurlTransport
import Foundation
import JSONBytes
import Logging
import MatrixEncryption
import MatrixProtocol
import PeerLog

/// Keys of messages sent before a user was invited, for users who may read them (client-server API 1.19, "Sharing room
/// keys with newly invited users").
extension SessionCore {
    /// The maximum bytes of a downloaded bundle: some 50,000 keys.
    private static let maximumBundleSize = 32 << 20

    /// Invites a user. If the room is encrypted and new members may read its history, they get its keys.
    ///
    /// Keys that cannot be sent do not prevent the invitation. No keys are sent if the invitation is refused.
    ///
    /// - Parameter waits: Whether to return only when the keys have been sent. Otherwise the session continues to send
    ///   them.
    /// - Returns: Why the keys could not be sent; `nil` if they were, or there are none to send.
    @discardableResult
    func invite(
        _ userId: String, to roomId: String, reason: String? = nil, waits: Bool = false
    ) async throws -> (any Error)? {
        var (history, failure): (EncryptedFile?, (any Error)?)
        do {
            // The slow part comes first, so the keys follow the invitation at once.
            history = try await uploadedHistory(of: roomId)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            failure = error
        }
        try await rest.inviteUser(userId, toRoom: roomId, reason: reason)
        if let file = history {
            do {
                try cryptoCommand { machine, turn in
                    try machine.shareHistory(of: roomId, file: file, with: userId, &turn)
                }
                if waits { try await finishSharing(of: roomId, with: userId) }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure = error
            }
        }
        if let failure {
            options.logger?.report(
                .warning, "a user who is invited cannot be given the keys of earlier messages: \(failure)",
                ["matrix.room": "\(roomId)"])
        }
        return failure
    }

    /// Waits until the homeserver has accepted the messages to the devices of an invited user.
    private func finishSharing(of roomId: String, with userId: String) async throws {
        guard let cryptoDriver else { return }
        let end = ContinuousClock.now + options.keyPatience + options.keySharingPatience
        while true {
            let answers = cryptoDriver.answers
            let isSharing = try encryption { machine, turn, _, _ in
                try machine.isSharingHistory(of: roomId, with: userId, &turn)
            }
            guard isSharing else { break }
            try Task.checkCancellation()
            guard ContinuousClock.now < end else { throw MatrixError.historyNotTaken(roomId: roomId, by: userId) }
            await cryptoDriver.waitForAnswers(after: answers, until: end)
        }
        await cryptoDriver.settle(until: end)
        guard ContinuousClock.now < end else { throw MatrixError.historyNotTaken(roomId: roomId, by: userId) }
    }

    /// Uploads the keys of a room's history, if new members may have them.
    private func uploadedHistory(of roomId: String) async throws -> EncryptedFile? {
        guard account.encrypts, try account.isEncrypted(roomId),
            let visibility = try account.read(roomId, { _, state in state?.historyVisibility }),
            visibility == .shared || visibility == .worldReadable,
            let bundle = try encryption({ machine, turn, _, _ in try machine.historyBundle(of: roomId, &turn) })
        else { return nil }
        var encryptor = AttachmentEncryptor(random: .system)
        let ciphertext = bundle.withUnsafeBytes { encryptor.encrypt(Array($0)) }
        var file = encryptor.finish()
        file.url = try await rest.uploadContent(Data(ciphertext))
        return file
    }

    /// Imports the keys offered by the user who invited this one to a room.
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
            try cryptoCommand { machine, turn in try machine.importHistory(bundle, of: roomId, &turn) }
        } catch {
            options.logger?.report(
                .warning, "the keys of earlier messages that were offered cannot be taken: \(error)",
                ["matrix.room": "\(roomId)"])
            let isFinal =
                CryptoDriver.isFinal(error) || error is EncryptionError || (error as? MatrixError)?.code == .tooLarge
            _ = try? cryptoCommand { machine, turn in
                try machine.noteHistoryFailed(of: roomId, isFinal: isFinal, &turn)
            }
        }
    }
}

extension MatrixError {
    fileprivate static func historyNotTaken(roomId: String, by userId: String) -> MatrixError {
        MatrixError(
            .timedOut,
            """
            the homeserver has not passed them on to the devices of \(userId) in time. Whatever next uses the keys of this login \
            goes on with it, for ten minutes
            """, roomId: roomId)
    }
}

extension CryptoMachine {
    /// Records who invited the user to the rooms that the answer to a sync shows as joined.
    ///
    /// - Parameter model: The model before the answer.
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
