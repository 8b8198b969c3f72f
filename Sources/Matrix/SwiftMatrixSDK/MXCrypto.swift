public import MatrixSDK

/// Callback variants: keys, devices and messages.
extension MXCrypto {
    /// `ensureEncryption(inRoom:)` with a callback.
    @discardableResult
    public func ensureEncryption(
        inRoom roomId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.ensureEncryption(inRoom: roomId) }
    }

    /// `encryptEventContent(_:withType:in:)` with a callback.
    @discardableResult
    public func encryptEventContent(
        _ content: [String: Any], withType type: MXEventType, in room: MXRoom,
        completion: @escaping (MXResponse<JSONView>) -> Void
    ) -> MXHTTPOperation {
        let content = Result { try eventContent(content) }
        return rest.operation(completion) {
            try await self.encryptEventContent(content.get(), withType: type, in: room)
        }
    }

    /// `decryptEvents(_:inTimeline:)` with a callback.
    @discardableResult
    public func decryptEvents(
        _ events: [MXEvent], inTimeline timelineId: String?, completion: @escaping (MXResponse<[MXEvent]>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try self.decryptEvents(events, inTimeline: timelineId) }
    }

    /// `downloadKeys(_:forceDownload:)` with a callback.
    @discardableResult
    public func downloadKeys(
        _ userIds: [String], forceDownload: Bool = false, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.downloadKeys(userIds, forceDownload: forceDownload) }
    }

    /// `trustLevelSummary(forUserIds:forceDownload:)` with a callback.
    @discardableResult
    public func trustLevelSummary(
        forUserIds userIds: [String], forceDownload: Bool = false,
        completion: @escaping (MXResponse<MXUsersTrustLevelSummary>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) {
            try await self.trustLevelSummary(forUserIds: userIds, forceDownload: forceDownload)
        }
    }

    /// `exportRoomKeys(withPassword:)` with a callback.
    @discardableResult
    public func exportRoomKeys(
        withPassword password: String, completion: @escaping (MXResponse<Data>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.exportRoomKeys(withPassword: password) }
    }

    /// `importRoomKeys(_:withPassword:)` with a callback.
    @discardableResult
    public func importRoomKeys(
        _ keys: Data, withPassword password: String,
        completion: @escaping (MXResponse<(total: Int, imported: Int)>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.importRoomKeys(keys, withPassword: password) }
    }
}

/// Callback variants: the user's identity.
extension MXCrossSigning {
    /// `refreshState()` with a callback.
    @discardableResult
    public func refreshState(completion: @escaping (MXResponse<State>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.refreshState() }
    }

    /// `setup(isReset:)` with a callback.
    @discardableResult
    public func setup(
        isReset: Bool = false, completion: @escaping (MXResponse<MXInteractiveStep<Bool>>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.setup(isReset: isReset) }
    }
}

/// Callback variants: the backup of keys.
extension MXKeyBackup {
    /// `refreshState()` with a callback.
    @discardableResult
    public func refreshState(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.refreshState() }
    }

    /// `createKeyBackupVersion(isReplacement:)` with a callback that receives the version.
    @discardableResult
    public func createKeyBackupVersion(
        isReplacement: Bool = false, completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.createKeyBackupVersion(isReplacement: isReplacement) }
    }

    /// `deleteKeyBackupVersion()` with a callback.
    @discardableResult
    public func deleteKeyBackupVersion(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.deleteKeyBackupVersion() }
    }

    /// `backupAllGroupSessions()` with a callback.
    @discardableResult
    public func backupAllGroupSessions(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.backupAllGroupSessions() }
    }

    /// `restore(withRecoveryKey:)` with a callback.
    @discardableResult
    public func restore(
        withRecoveryKey recoveryKey: String? = nil, completion: @escaping (MXResponse<Restoration>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.restore(withRecoveryKey: recoveryKey) }
    }
}

/// Callback variants: the user's secrets on the homeserver.
extension MXRecoveryService {
    /// `status()` with a callback.
    @discardableResult
    public func status(completion: @escaping (MXResponse<Status>) -> Void) -> MXHTTPOperation {
        rest.operation(completion) { try await self.status() }
    }

    /// `createRecovery(withPassphrase:isReplacement:showing:)` with a callback that receives the recovery key.
    ///
    /// - Parameter show: As in the `async` method: a program that shows the key only once it is in use may never show
    ///   it.
    @discardableResult
    public func createRecovery(
        withPassphrase passphrase: String? = nil, isReplacement: Bool = false,
        showing show: @escaping @Sendable (_ recoveryKey: String) async throws -> Void = { _ in },
        completion: @escaping (MXResponse<String>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) {
            try await self.createRecovery(withPassphrase: passphrase, isReplacement: isReplacement, showing: show)
        }
    }

    /// `recoverSecrets(with:)` with a callback.
    @discardableResult
    public func recoverSecrets(
        with recoveryKey: String, completion: @escaping (MXResponse<Result>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.recoverSecrets(with: recoveryKey) }
    }
}

/// Callback variants: verification.
extension MXKeyVerificationManager {
    /// `requestVerificationByToDevice(withUserId:deviceId:)` with a callback.
    @discardableResult
    public func requestVerificationByToDevice(
        withUserId userId: String, deviceId: String? = nil,
        completion: @escaping (MXResponse<MXKeyVerification>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) {
            try await self.requestVerificationByToDevice(withUserId: userId, deviceId: deviceId)
        }
    }

    /// `requestVerificationByDM(withUserId:roomId:)` with a callback.
    @discardableResult
    public func requestVerificationByDM(
        withUserId userId: String, roomId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.requestVerificationByDM(withUserId: userId, roomId: roomId) }
    }

    /// `beginKeyVerification(withUserId:deviceId:)` with a callback.
    @discardableResult
    public func beginKeyVerification(
        withUserId userId: String, deviceId: String, completion: @escaping (MXResponse<MXKeyVerification>) -> Void
    ) -> MXHTTPOperation {
        rest.operation(completion) { try await self.beginKeyVerification(withUserId: userId, deviceId: deviceId) }
    }
}
