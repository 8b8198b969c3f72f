import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct RecoveryKeyTests {
    private let vectors = Vectors.file("backup")

    @Test func keysBecomeTextAndBack() throws {
        for vector in try vectors.list("recovery_keys") {
            let key = SecretBytes(try vector.hex("key"))
            let text = try vector.text("text")
            #expect(RecoveryKey.text(of: key) == text)
            for spelling in try [text] + (vector["also"]?.array ?? []).map({ try #require($0.string) }) {
                #expect(try RecoveryKey.key(spelling) == key)
            }
        }
        for vector in try vectors.list("recovery_refused") {
            let text = try vector.text("text")
            try expectRefusal(vector, text) { _ = try RecoveryKey.key(text) }
        }
    }

    @Test func everyKeyHasTwelveGroups() throws {
        for _ in 0..<500 {
            let key = RandomSource.system.secret(32)
            let text = RecoveryKey.text(of: key)
            #expect(text.hasPrefix("Es"))
            #expect(text.split(separator: " ").map(\.count) == Array(repeating: 4, count: 12))
            #expect(try RecoveryKey.key(text) == key)
        }
    }

    /// The parity byte misses one error in 256.
    @Test func typingErrorsAreFound() throws {
        let text = Array(RecoveryKey.text(of: SecretBytes(try vectors.list("recovery_keys")[2].hex("key"))))
        var passed = 0
        var tried = 0
        for index in text.indices where text[index] != " " {
            for digit in "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz" where digit != text[index] {
                var changed = text
                changed[index] = digit
                tried += 1
                if (try? RecoveryKey.key(String(changed))) != nil { passed += 1 }
            }
        }
        #expect(tried == 48 * 57)
        #expect(passed < tried / 50)
    }

    @Test func otherTextsAreRefused() {
        for text in ["EsTc LW2K\u{0}", "ΕsTc", "É", "l", "O", "I", "0"] {
            #expect(throws: EncryptionError.base58) { try RecoveryKey.key(text) }
        }
        for text in ["1", String(repeating: "1", count: 48), String(repeating: "z", count: 100_000)] {
            #expect(throws: EncryptionError.length) { try RecoveryKey.key(text) }
        }
    }
}
