import JSONBytes
import MatrixEncryption
import MatrixProtocol

extension StoredAccount {
    var encrypts: Bool { opened { $0.crypto != nil } ?? false }

    enum Encryption: Sendable {
        /// Encrypts if the device has keys: the homeserver sends the keys of others only once, with a sync.
        case ifBegun
        /// Encrypts, generating keys if the device has none.
        ///
        /// - Parameter inMemory: Whether to do so even if the keys are lost with the process.
        case always(inMemory: Bool)
    }

    static func encrypts(_ encryption: Encryption, _ store: any MXStore) throws(MatrixError) -> Bool {
        // A copy must not use the keys of a store that another process owns.
        guard (store as? MXMemoryStore)?.isCopy != true else { return false }
        if case .always(let inMemory) = encryption, inMemory || store.isPermanent { return true }
        do throws(EncryptionError) {
            return try (store as? any RecordStore)?.record(RecordKey(OlmAccount.kind)) != nil
        } catch {
            throw MatrixError(.store, "the keys of this device cannot be read")
        }
    }

    func hasRecord(_ place: RecordKey) throws(MatrixError) -> Bool {
        try store { store throws(MatrixError) in
            do throws(EncryptionError) {
                return try (store as? any RecordStore)?.record(place) != nil
            } catch {
                throw MatrixError(.store, "the keys of this device cannot be read: nothing was sent")
            }
        }
    }

    /// Returns the machine of the store's device.
    ///
    /// - Parameters:
    ///   - changes: Receives its keys, if they are new.
    ///   - notices: Receives the notices to report about them.
    static func machine(
        _ userId: String, _ deviceId: String?, _ model: SessionModel, _ store: any MXStore,
        _ changes: inout EncryptionChanges, _ notices: inout [CryptoNotice]
    ) throws(MatrixError) -> CryptoMachine {
        guard let records = store as? any RecordStore else { throw .storeWithoutKeys }
        guard let deviceId else {
            throw MatrixError(.invalidArgument, "encryption needs the id of the device that has logged in")
        }
        var turn = CryptoTurn(Records(records), now: AccessTokens.now, random: .system)
        do throws(EncryptionError) {
            let isNew = try turn.records.value(OlmAccount.self) == nil
            var machine = try CryptoMachine(me: DeviceAddress(userId, deviceId), &turn)
            if isNew { try machine.noteEncryption(ofRoomsIn: model, store, &turn) }
            changes.add(turn.records)
            notices = turn.notices
            return machine
        } catch {
            throw MatrixError(
                .store, "the keys of this device cannot be read: it cannot encrypt any more. Log in as a new device")
        }
    }

    /// Performs a step of the machine outside of a sync. Its changes are stored when this returns.
    ///
    /// - Returns: The result of `body`, the notices to deliver, and the answers to syncs that were stored meanwhile.
    func encryption<Value>(
        _ body: (inout CryptoMachine, inout CryptoTurn, inout SessionModel, inout MXStoreChanges) throws -> Value
    ) throws(MatrixError) -> (value: Value, notices: [SessionNotice], committed: [Uncommitted]) {
        let (result, committed) = try inTurn { draft throws(MatrixError) -> (Value, [SessionNotice]) in
            // The machine reads the store, which must have everything the model has.
            while !draft.opened.uncommitted.isEmpty { try draft.commitNext() }
            guard var crypto = draft.opened.crypto else { throw .encryptionIsOff }
            let before = draft.opened
            let store = draft.opened.store
            var (model, applied) = (draft.opened.model, SessionModel.Applied())
            let step = try crypto.step(on: store) { machine, turn in
                try body(&machine, &turn, &model, &applied.changes)
            }
            try applied.add(step, to: &model, store)
            (draft.opened.model, draft.opened.crypto) = (model, crypto)
            do throws(MatrixError) {
                if !applied.changes.isEmpty { try draft.commit(applied.changes) }
            } catch {
                draft.opened = before  // nothing was stored, so nothing has happened
                throw error
            }
            return (step.value, applied.notices)
        }
        return (result.0, result.1, committed)
    }
}

extension CryptoMachine {
    /// Records the rooms that were encrypted before this device could encrypt.
    fileprivate mutating func noteEncryption(
        ofRoomsIn model: SessionModel, _ store: any MXStore, _ turn: inout CryptoTurn
    ) throws(EncryptionError) {
        for room in model.rooms.values where room.summary.isEncrypted {
            let event = try? store.stateEvent(of: room.summary.roomId, type: "m.room.encryption", key: "")
            try noteEncryption(of: room.summary.roomId, event?.contentJSON ?? .nothing, &turn)
        }
    }
}

extension MatrixError {
    static let encryptionIsOff = MatrixError(
        .encryptionNotAvailable, "the session does not encrypt: see MXSessionOptions.enableCrypto")
}
