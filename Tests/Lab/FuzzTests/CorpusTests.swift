import Foundation
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// The initial inputs of fuzzing, and every input that once broke a claim.
struct CorpusTests {
    @Test(arguments: FuzzTarget.allCases)
    func claimsHoldForTheCorpus(target: FuzzTarget) throws {
        let files = try Fixtures.files("fuzz/\(target.rawValue)")
        #expect(!files.isEmpty)
        for file in files {
            #expect(throws: Never.self, "\(target.rawValue)/\(file.lastPathComponent)") {
                try target.run(Array(try Data(contentsOf: file)))
            }
        }
    }

    private func seed(_ name: String) throws -> [UInt8] { Array(try Fixtures.data("fuzz/" + name)) }

    /// Mutations of immediately rejected inputs would not get far.
    @Test func whatTheCorporaOfEncryptionHoldIsRead() throws {
        var (account, session, inbound) = (KnownKeys.bob, KnownKeys.session, KnownKeys.inbound)
        let opening = try OlmPreKeyMessage(try seed("olm/pre-key"))
        _ = try account.inboundSession(from: opening, senderKey: KnownKeys.alice.curve25519.publicKey)
        _ = try session.decrypt(.preKey(try seed("olm/second-pre-key")))
        _ = try session.decrypt(.normal(try seed("olm/turned")))
        for name in ["first", "later"] { _ = try inbound.decrypt(MegolmMessage(try seed("megolm/" + name))) }
        _ = try KeyExport.json(of: try seed("key-export/file"), passphrase: "fuzz", maximumRounds: 4)
        #expect(try KeyExport.sessions(in: SecretBytes(try seed("key-export/sessions"))).sessions.count == 1)
        let entry = try #require(JSONView(try seed("key-backup/entry")))
        _ = try ExportedSession(try KeyBackup.decrypt(entry, with: KnownKeys.backup), roomID: "!r:s")
        let secret = try EncryptedSecret(in: try #require(JSONView(try seed("secret-storage/secret"))), keyID: "k")
        _ = try secret.decryptKey(name: "m.secret", key: KnownKeys.storage)
        let device = try #require(JSONView(try seed("signed-keys/device")))
        _ = try DeviceKeys(device, user: "@alice:s", device: "A")
    }

    @Test(
        arguments: [
            ("olm", .inboundSession), ("room-key", .inboundSession), ("message", .messageIndex),
            ("devices", .identity), ("claimed", .olmSession), ("backup", .inboundSession),
        ] as [(String, RecordKind)])
    func theMachineTakesWhatItsCorpusHolds(name: String, stored: RecordKind) throws {
        let bytes = try seed("crypto-machine/" + name)
        let (_, turn) = try turnOfBobsDevice(bytes[0], try #require(JSONView(Array(bytes.dropFirst()))))
        #expect(turn.records.changes.contains { $0.key.kind == stored && $0.value != nil })
    }
}
