import Basics
import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct ExportedSessionTests {
    private func text() throws -> String {
        try Vectors.file("backup").value("backup").list("sessions")[0].text("plaintext")
    }

    private func read(
        _ text: String, room: String? = "!r:hs", session: String? = nil
    ) throws -> ExportedSession {
        try ExportedSession(SecretBytes(text.utf8), roomID: room, sessionID: session)
    }

    @Test func sessionsOfBackupsAreRead() throws {
        let session = try read(text())
        #expect(session.roomID == "!r:hs")
        #expect(session.senderKey.base64 == "op2MvEtY91Xz/Sx8cstiQT7L/C3ne8d0bVxorPdqyQg")
        #expect(session.senderClaimedKey?.base64 == "0hhc5YBqIC/XQTfMRSEw3Z21jSjD+yfMlSjJtjVCct8")
        #expect(session.forwardingChain.isEmpty && !session.isSharedHistory)
        #expect(session.sessionID == "R29UJheaKhhKtY1uxLj20A3SER+Xx4Fe1aiuiYSzt0Y")
        let written = try #require(JSONView(session.backupJSON.withUnsafeBytes { Array($0) }))
        let original = try #require(JSONView(Array(text().utf8)))
        #expect(try CanonicalJSON.bytes(of: written) == CanonicalJSON.bytes(of: original))
    }

    @Test func everythingComesBack() throws {
        let original = try read(text())
        for isShared in [false, true] {
            for claimed in [nil, Ed25519KeyPair(random: .system).publicKey] {
                let session = try ExportedSession(
                    roomID: #"!"ü:hs"#, senderKey: original.senderKey, senderClaimedKey: claimed,
                    forwardingChain: (0..<2).map { _ in Curve25519KeyPair(random: .system).publicKey },
                    sessionKey: original.sessionKey, isSharedHistory: isShared)
                let back = try ExportedSession(
                    session.backupJSON, roomID: session.roomID, sessionID: session.sessionID)
                #expect(back == session)
            }
        }
    }

    @Test func aSessionUnderAnotherNameIsRefused() throws {
        let id = try read(text()).sessionID
        #expect(try read(text(), session: id).sessionID == id)
        #expect(throws: EncryptionError.ids) { try read(try text(), session: "other") }
        #expect(throws: EncryptionError.missingField) { try read(try text(), room: nil) }
        let inside = try text().dropLast() + #","room_id":"!other:hs","session_id":"\#(id)"}"#
        #expect(throws: EncryptionError.ids) { try read(String(inside)) }
        #expect(try read(String(inside), room: nil).roomID == "!other:hs")
        let wrongID = try text().dropLast() + #","session_id":"x"}"#
        #expect(throws: EncryptionError.ids) { try read(String(wrongID)) }
    }

    @Test func damagedSessionsAreRefused() throws {
        let text = try text()
        #expect(throws: EncryptionError.algorithm) {
            try read(text.replacing("m.megolm.v1.aes-sha2", with: "m.megolm.v9"))
        }
        // 02 is the shared format, which is longer.
        #expect(throws: EncryptionError.sessionKey) {
            try read(text.replacing("\"session_key\":\"AQ", with: "\"session_key\":\"Ag"))
        }
        #expect(throws: EncryptionError.sessionKey) {
            try read(text.replacing("\"session_key\":\"AQAAAAGl", with: "\"session_key\":\"AQAA"))
        }
        #expect(throws: EncryptionError.missingField) { try read(text.replacing("sender_key", with: "sender")) }
        #expect(throws: EncryptionError.keyLength) {
            try read(text.replacing("key_chain\":[]", with: "key_chain\":[\"AAAA\"]"))
        }
        for notJSON in ["", "[]", "{", "{\"algorithm\"}", "null"] {
            #expect(throws: EncryptionError.notJSON) { try read(notJSON) }
        }
    }

    @Test(.rule("R36")) func nothingPrintsTheKey() throws {
        let session = try read(text())
        let key = UnpaddedBase64.encode(session.sessionKey)
        var dumped = ""
        dump(session, to: &dumped)
        #expect(!"\(session)\(String(reflecting: session))\(dumped)".contains(key))
        let bytes = session.sessionKey.withUnsafeBytes { Array($0.prefix(8)) }
        #expect(!dumped.contains(bytes.map(String.init).joined(separator: ", ")))
    }
}
