import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct KeyExportTests {
    private let vectors = Vectors.file("key_export")

    @Test func filesAreWrittenAndReadAsElsewhere() throws {
        for vector in try vectors.list("files") {
            let (file, passphrase) = (try vector.text("file"), try vector.text("passphrase"))
            let plaintext = SecretBytes(try vector.text("plaintext").utf8)
            #expect(try KeyExport.json(of: Array(file.utf8), passphrase: passphrase) == plaintext)

            let (total, sessions) = try KeyExport.sessions(in: plaintext)
            #expect(total == 2 && sessions.count == 2)
            #expect(sessions.allSatisfy { $0.roomID == "!room:hs.test" })
            let written = try #require(JSONView(KeyExport.json(of: sessions).withUnsafeBytes { Array($0) }))
            let original = try #require(JSONView(Array(try vector.text("plaintext").utf8)))
            #expect(try CanonicalJSON.bytes(of: written) == CanonicalJSON.bytes(of: original))

            guard let salt = vector["salt"]?.string, !salt.isEmpty else { continue }
            let made = KeyExport.file(
                of: plaintext, passphrase: passphrase, rounds: Int(try vector.wholeNumber("rounds")),
                random: .fixed(try vector.hex("salt"), try vector.hex("iv")))
            #expect(made == file)
        }
    }

    @Test func otherFilesAreRefused() throws {
        for vector in try vectors.list("refused") {
            let (file, passphrase) = (Array(try vector.text("file").utf8), try vector.text("passphrase"))
            try expectRefusal(vector, try vector.text("name")) {
                _ = try KeyExport.json(of: file, passphrase: passphrase)
            }
        }
    }

    @Test func filesOfAnyLengthComeBack() throws {
        var generator = XorShift(seed: 16)
        for length in 0..<200 {
            let text = SecretBytes([UInt8].random(length, using: &generator))
            let file = KeyExport.file(of: text, passphrase: "p", rounds: 1, random: .system)
            #expect(file.split(separator: "\n").allSatisfy { $0.utf8.count <= 96 })
            #expect(try KeyExport.json(of: Array(file.utf8), passphrase: "p") == text)
            let noise = "To: me\r\n\r\n \t" + file.split(separator: "\n").joined(separator: "  \r\n\t") + "\r\n--\r\n"
            #expect(try KeyExport.json(of: Array(noise.utf8), passphrase: "p") == text)
        }
    }

    @Test func everyFlippedByteIsRefused() throws {
        let json = SecretBytes("[]".utf8)
        let file = KeyExport.file(of: json, passphrase: "p", rounds: 1, random: .system)
        let lines = file.split(separator: "\n").map(String.init)
        let bytes = try UnpaddedBase64.decode(lines[1])
        for index in bytes.indices where !(33..<37).contains(index) {
            var changed = bytes
            changed[index] ^= 1
            let damaged = [lines[0], UnpaddedBase64.encode(changed), lines[2]].joined(separator: "\n")
            #expect(throws: index == 0 ? EncryptionError.version : .mac) {
                try KeyExport.json(of: Array(damaged.utf8), passphrase: "p")
            }
        }
        // One round more than the file says: the codes differ.
        var changed = bytes
        changed[36] = 2
        let damaged = [lines[0], UnpaddedBase64.encode(changed), lines[2]].joined(separator: "\n")
        #expect(throws: EncryptionError.mac) { try KeyExport.json(of: Array(damaged.utf8), passphrase: "p") }
        #expect(throws: EncryptionError.armour) {
            try KeyExport.json(of: Array("\(lines[2])\n\(lines[1])\n\(lines[0])".utf8), passphrase: "p")
        }
    }

    @Test func theIVHasBit63Clear() throws {
        let random = RandomSource.fixed([UInt8](repeating: 0xFF, count: 32))
        let file = KeyExport.file(of: SecretBytes("[]".utf8), passphrase: "p", rounds: 1, random: random)
        let bytes = try UnpaddedBase64.decode(String(file.split(separator: "\n")[1]))
        #expect(bytes[17 + 8] == 0x7F)
        #expect(bytes[33..<37].elementsEqual([0, 0, 0, 1]))
    }

    @Test func eachEntryStandsForItself() throws {
        let text = try vectors.list("files")[0].text("plaintext")
        let session = try #require(JSONView(Array(text.utf8))?[0])
        let good = session.compactText
        let entries = [
            good, "null", good.replacing("m.megolm.v1.aes-sha2", with: "m.other"),
            good.replacing("\"session_id\":\"R", with: "\"session_id\":\"S"), "{}",
            good.replacing("room_id", with: "room"),
        ]
        let (total, sessions) = try KeyExport.sessions(
            in: SecretBytes("[\(entries.joined(separator: ","))]".utf8))
        #expect(total == 6)
        #expect(sessions.count == 1)
        #expect(try KeyExport.sessions(in: KeyExport.json(of: [])).total == 0)
        for other in ["{}", "", "[", "null"] {
            #expect(throws: EncryptionError.notJSON) { try KeyExport.sessions(in: SecretBytes(other.utf8)) }
        }
    }
}
