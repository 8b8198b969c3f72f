import Basics
import JSONBytes

@testable import MatrixEncryption

/// Bob's device, which knows Alice's, her session of a room and a backup; nothing of it is ever committed.
private enum BobsDevice {
    static let (user, alice, room) = ("@bob:s", DeviceAddress("@alice:s", "A"), "!r:s")
    static let (machine, records) = KnownKeys.known { try make() }

    static func turn() -> CryptoTurn {
        CryptoTurn(Records(records), now: 1_700_000_000_000, random: KnownKeys.random(14))
    }

    private static func make() throws(EncryptionError) -> (CryptoMachine, MemoryRecords) {
        let records = MemoryRecords()
        var turn = CryptoTurn(Records(records), now: 1_600_000_000_000, random: KnownKeys.random(15))
        turn.records.set(KnownKeys.bob)
        turn.records.set(SecretRecord(KnownKeys.backup.privateKey), key: SecretName.backup.rawValue)
        var machine = try CryptoMachine(me: DeviceAddress(user, "B"), &turn)
        let (key, fingerprint) = (KnownKeys.alice.curve25519.publicKey, KnownKeys.alice.ed25519)
        let keys = try DeviceKeys(
            userID: alice.user, deviceID: alice.device, identityKey: key, fingerprint: fingerprint)
        machine.remember(DeviceRecord(keys: keys, isListed: true, firstSeen: 1), &turn)
        let session = InboundSessionRecord(
            session: KnownKeys.inbound, user: alice.user, device: alice.device, curve25519: key,
            ed25519: fingerprint.publicKey, source: .direct, isSharedHistory: false)
        turn.records.set(session, scope: room, key: KnownKeys.inbound.id)
        var sync = CryptoSync()
        (sync.oneTimeKeyCount, sync.unusedFallbackKeys) = (50, ["signed_curve25519"])
        try machine.receive(sync, &turn)
        var backup = JSONWriter()
        backup.add("version", "1")
        backup.add("algorithm", KeyBackup.algorithm)
        backup.add("auth_data", KeyBackupAuthData(publicKey: KnownKeys.backup.publicKey).json)
        try machine.noteBackup(backup.view, &turn)
        records.commit(turn.records.changes)
        return (machine, records)
    }
}

/// Data from a homeserver: the first byte is its kind, the others are JSON.
///
///     e   a message to the device           q   the answer to any request
///     p   the plaintext of one by Alice     r   the content of a room's event
func fuzzCryptoMachine(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let kind = bytes.first, let view = JSONView(Array(bytes.dropFirst())) else { return }
    var (machine, turn) = try turnOfBobsDevice(kind, view)
    try checkThatNothingIsForged(by: kind, view, turn)
    try claim("this device stays what it is", machine.account.ed25519 == KnownKeys.bob.ed25519)
    let more = Result { () throws(EncryptionError) in try machine.requests(&turn) }
    try claim("there is something to do next, or nothing", (try? more.get()) != nil)
}

func turnOfBobsDevice(_ kind: UInt8, _ view: JSONView) throws(BrokenClaim) -> (CryptoMachine, CryptoTurn) {
    var (machine, turn) = (BobsDevice.machine, BobsDevice.turn())
    do throws(EncryptionError) {
        switch kind {
        case UInt8(ascii: "e"): try machine.receive(view, &turn)
        case UInt8(ascii: "p"):
            try machine.receive(view, from: BobsDevice.alice.user, KnownKeys.alice.curve25519.publicKey, &turn)
        case UInt8(ascii: "q"): try answerAll(view, &machine, &turn)
        case UInt8(ascii: "r"):
            let event = EncryptedEvent(
                roomId: BobsDevice.room, eventId: "$e", sender: BobsDevice.alice.user, time: 1, isState: false,
                content: view)
            let isObject = try machine.decrypt(event, &turn).map(\.isObject)
            guard (try? isObject.get()) != false else { throw .notJSON }
        default: break
        }
    } catch {
        guard error != .store, error != .state else { throw BrokenClaim(description: "\(error)") }
    }
    return (machine, turn)
}

private func answerAll(
    _ answer: JSONView, _ machine: inout CryptoMachine, _ turn: inout CryptoTurn
) throws(EncryptionError) {
    machine.wanted.insert(BobsDevice.alice)
    try machine.track([BobsDevice.alice.user], &turn)
    try machine.restoreBackup(&turn)
    for request in try machine.requests(&turn) { try machine.answered(request.id, answer, &turn) }
    for request in try machine.requests(&turn) { try machine.failed(request.id, isFinal: true, &turn) }
}

/// Only Olm and the backup bring keys: those of Olm belong to their sender, those of the backup are a claim.
private func checkThatNothingIsForged(by kind: UInt8, _ view: JSONView, _ turn: CryptoTurn) throws(BrokenClaim) {
    for case (let place, let state?) in turn.records.changes where place.kind == .inboundSession {
        let isOlm = kind == UInt8(ascii: "p") || view["type"]?.string == "m.room.encrypted"
        guard let record = try? InboundSessionRecord(state: state) else {
            throw BrokenClaim(description: "what is stored can be read")
        }
        switch record.source {
        case .direct: try claim("a key is its sender's", isOlm && record.user.isExactly(BobsDevice.alice.user))
        case .backup: try claim("a backup is downloaded", kind == UInt8(ascii: "q"))
        case .forwarded, .imported, .history: throw BrokenClaim(description: "nobody has asked for keys")
        }
    }
    let secrets = turn.records.changes.filter { $0.key.kind == .secret && $0.value != nil }
    try claim("no secret comes unasked", secrets.isEmpty)
}
