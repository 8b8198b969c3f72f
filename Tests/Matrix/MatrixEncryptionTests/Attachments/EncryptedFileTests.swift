import Basics
import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct EncryptedFileTests {
    private let vectors = Vectors.file("attachments")

    private func decrypt(_ ciphertext: [UInt8], _ file: EncryptedFile) throws -> [UInt8] {
        var check = AttachmentCheck(of: file)
        check.update(ciphertext)
        var decryptor = try check.finish()
        return decryptor.decrypt(ciphertext)
    }

    private func encrypt(
        _ text: [UInt8], random: RandomSource = .system
    ) -> (ciphertext: [UInt8], file: EncryptedFile) {
        var encryptor = AttachmentEncryptor(random: random)
        let ciphertext = encryptor.encrypt(text)
        return (ciphertext, encryptor.finish())
    }

    @Test func filesAreEncryptedAsElsewhere() throws {
        for vector in try vectors.list("files") {
            let (key, iv) = (try vector.hex("key"), try vector.hex("iv8"))
            var (ciphertext, file) = encrypt(try vector.hex("plain"), random: .fixed(key, iv))
            #expect(try ciphertext == vector.hex("cipher"))
            file.url = try vector.value("file").text("url")
            #expect(try CanonicalJSON.bytes(of: file.json) == CanonicalJSON.bytes(of: vector.value("file")))
            #expect(try EncryptedFile(try vector.value("file")) == file)
        }
        for vector in try vectors.list("files") + vectors.list("accepted") {
            let file = try EncryptedFile(try vector.value("file"))
            #expect(try decrypt(try vector.hex("cipher"), file) == vector.hex("plain"))
        }
    }

    @Test(.rule("R23")) func damagedFilesAreRefused() throws {
        for vector in try vectors.list("refused") {
            try expectRefusal(vector, try vector.text("name")) {
                _ = try decrypt(try vector.hex("cipher"), try EncryptedFile(try vector.value("file")))
            }
        }
        let text = Array("a file of some length, longer than a block".utf8)
        let (ciphertext, file) = encrypt(text)
        for index in ciphertext.indices {
            var changed = ciphertext
            changed[index] ^= 0x10
            #expect(throws: EncryptionError.hash) { try decrypt(changed, file) }
            #expect(throws: EncryptionError.hash) { try decrypt(Array(ciphertext[..<index]), file) }
        }
        let other = encrypt(text)
        #expect(throws: EncryptionError.hash) { try decrypt(other.ciphertext, file) }
        #expect(throws: EncryptionError.hash) { try decrypt(ciphertext + [0], file) }
    }

    @Test func piecesOfAnyLengthMakeTheSameFile() throws {
        var generator = XorShift(seed: 11)
        for _ in 0..<200 {
            let text = [UInt8].random(Int.random(in: 0...3_000, using: &generator), using: &generator)
            let seed = [UInt8].random(40, using: &generator)
            let whole = encrypt(text, random: .fixed(seed))

            var encryptor = AttachmentEncryptor(random: .fixed(seed))
            let ciphertext = pieces(of: text, using: &generator).flatMap { encryptor.encrypt($0) }
            #expect(ciphertext == whole.ciphertext)
            let file = encryptor.finish()
            #expect(file == whole.file)

            var check = AttachmentCheck(of: try EncryptedFile(file.json))
            for piece in pieces(of: ciphertext, using: &generator) { check.update(piece) }
            var decryptor = try check.finish()
            #expect(pieces(of: ciphertext, using: &generator).flatMap { decryptor.decrypt($0) } == text)
        }
    }

    private func pieces(of text: [UInt8], using generator: inout XorShift) -> [[UInt8]] {
        var (pieces, rest): ([[UInt8]], _) = ([], text[...])
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...200, using: &generator))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    /// An IV whose bytes are all 255 except the first, which other implementations may choose.
    @Test func theCounterCarriesOverAllBytes() {
        let key = RandomSource.system.secret(32)
        let text = [UInt8](repeating: 7, count: 100)
        for iv in [[1] + [UInt8](repeating: 255, count: 15), [UInt8](repeating: 255, count: 16)] {
            let whole = AES256.ctr(SecretBytes(text), key: key, iv: iv).withUnsafeBytes { Array($0) }
            for offset in text.indices {
                let piece = AES256.ctr(Array(text[offset...]), at: offset, key: key, iv: iv)
                #expect(piece == Array(whole[offset...]))
            }
        }
    }

    @Test(.rule("R24")) func noTwoFilesShareKeyOrIV() {
        let files = (0..<500).map { _ in encrypt([1]).file }
        #expect(Set(files.map { UnpaddedBase64.encode($0.key) }).count == 500)
        #expect(Set(files.map(\.iv)).count == 500)
        #expect(files.allSatisfy { $0.iv.suffix(8).allSatisfy { $0 == 0 } })
    }

    @Test(arguments: ["key", "iv", "hashes", "v"]) func aMissingPartIsRefused(name: String) throws {
        let json = encrypt([1, 2, 3]).file.json
        var rest = JSONWriter()
        for (key, value) in json.members where key != name { rest.add(key, value) }
        #expect(throws: EncryptionError.self) { try EncryptedFile(rest.view) }
        #expect(throws: EncryptionError.attachmentVersion) { try EncryptedFile(.nothing) }
    }

    @Test func aHashComesInPieces() {
        var hash = SHA256()
        hash.update(Array("a".utf8))
        hash.update([])
        hash.update(Array("bc".utf8))
        #expect(hash.finish().hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
