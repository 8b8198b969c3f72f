import Foundation
import PusherProtocol
import TestSupport
import Testing

/// Keys and boxes of encrypted channels, against vectors of libsodium and the official libraries.
struct SecretBoxTests {
    struct Vectors: Decodable {
        struct Secret: Decodable {
            let channel, master_key_base64, shared_secret_base64: String
        }

        struct Box: Decodable {
            let shared_secret_base64, nonce_base64, plaintext, ciphertext_base64: String
        }

        struct BadBox: Decodable {
            let why, shared_secret_base64, nonce_base64, ciphertext_base64: String
        }

        let shared_secret: [Secret]
        let secretbox: [Box]
        let secretbox_must_fail: [BadBox]
    }

    private let vectors: Vectors

    init() throws {
        vectors = try JSONDecoder().decode(Vectors.self, from: try Fixtures.data("vectors.json"))
    }

    private func data(nonce: String, ciphertext: String) -> String {
        #"{"nonce":"\#(nonce)","ciphertext":"\#(ciphertext)"}"#
    }

    @Test func channelKeysAreDerived() throws {
        #expect(vectors.shared_secret.count == 4)
        for vector in vectors.shared_secret {
            guard let masterKey = EncryptionMasterKey(base64: vector.master_key_base64) else {
                #expect(Data(base64Encoded: vector.master_key_base64)?.count == 33)  // the key that is too long
                continue
            }
            #expect(masterKey.key(of: try ChannelName(vector.channel)).base64 == vector.shared_secret_base64)
        }
    }

    @Test func boxesOpen() throws {
        #expect(vectors.secretbox.count == 9)
        for vector in vectors.secretbox {
            let key = try #require(ChannelKey(base64: vector.shared_secret_base64))
            let text = try key.decrypt(data(nonce: vector.nonce_base64, ciphertext: vector.ciphertext_base64))
            #expect(text == vector.plaintext)
            let nonce = try #require(Data(base64Encoded: vector.nonce_base64))
            let secret = try #require(Data(base64Encoded: vector.shared_secret_base64))
            let box = SecretBox.seal(Array(vector.plaintext.utf8), nonce: Array(nonce), key: Array(secret))
            #expect(box.map { Data($0).base64EncodedString() } == vector.ciphertext_base64)
        }
    }

    @Test func boxesThatMustNotOpen() throws {
        #expect(vectors.secretbox_must_fail.count == 4)
        for vector in vectors.secretbox_must_fail {
            let key = try #require(ChannelKey(base64: vector.shared_secret_base64))
            let isRetryable = vector.why == "wrong key" || vector.why.contains("flipped")
            #expect(throws: isRetryable ? ChannelKey.Failure.wrongKey : .malformed, "\(vector.why)") {
                try key.decrypt(data(nonce: vector.nonce_base64, ciphertext: vector.ciphertext_base64))
            }
        }
    }

    @Test func allLengthsComeBack() throws {
        let key = try #require(ChannelKey((0..<32).map { UInt8($0) }))
        for length in Array(0...300) + [10_240] {
            let text = String(repeating: "x", count: length)
            let data = key.encrypt(text)
            #expect(try key.decrypt(data) == text)
            #expect(key.encrypt(text) != data)  // never the same nonce
        }
    }

    @Test(arguments: [
        nil, "", "{}", "[]", "null", "text", #"{"nonce":"","ciphertext":""}"#, #"{"nonce":1,"ciphertext":2}"#,
        #"{"nonce":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7"}"#, #"{"ciphertext":"WsULHIwOSHNKnE7V4oyT2w=="}"#,
        #"{"nonce":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7","ciphertext":"not base64!"}"#,
    ])
    func whatIsNotAnEncryptedTextIsMalformed(data: String?) throws {
        let key = try #require(ChannelKey((0..<32).map { UInt8($0) }))
        #expect(throws: ChannelKey.Failure.malformed) { try key.decrypt(data) }
    }

    @Test func textThatIsNotUTF8IsMalformed() throws {
        let secret = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 24)
        let box = try #require(SecretBox.seal([0xFF, 0xFE], nonce: nonce, key: secret))
        let key = try #require(ChannelKey(secret))
        let text = data(nonce: Data(nonce).base64EncodedString(), ciphertext: Data(box).base64EncodedString())
        #expect(throws: ChannelKey.Failure.malformed) { try key.decrypt(text) }
    }

    /// Of repeated keys, the one that Foundation takes counts, as in all other texts.
    @Test func aRepeatedPartIsReadAsFoundationReadsIt() throws {
        let key = try #require(ChannelKey((0..<32).map { UInt8($0) }))
        let (one, two) = (key.encrypt("one"), key.encrypt("two"))
        func parts(_ text: String) throws -> [String: String] {
            try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        }
        for part in ["nonce", "ciphertext"] {
            let other = "\"\(part)\":\"\(try parts(one)[part] ?? "")\""
            for text in ["{\(other),\(two.dropFirst())", "\(two.dropLast()),\(other)}"] {
                let read = try parts(text)
                let isWhole = try read == parts(two)
                #expect((try? key.decrypt(text)) == (isWhole ? "two" : nil))
            }
        }
    }

    @Test(arguments: [(31, 24), (32, 23), (32, 25), (33, 24), (0, 0)])
    func onlyKeysAndNoncesOfTheRightSizeSealAndOpen(key: Int, nonce: Int) throws {
        let box = try #require(
            SecretBox.seal([1], nonce: Array(repeating: 0, count: 24), key: Array(repeating: 0, count: 32)))
        let (key, nonce) = ([UInt8](repeating: 0, count: key), [UInt8](repeating: 0, count: nonce))
        #expect(SecretBox.seal([1], nonce: nonce, key: key) == nil)
        #expect(SecretBox.open(box, nonce: nonce, key: key) == nil)
    }

    @Test func keysOfTheWrongSizeAreNone() {
        #expect(ChannelKey(base64: "AAAA") == nil)
        #expect(ChannelKey(base64: "not base64!") == nil)
        #expect(EncryptionMasterKey(base64: Data(repeating: 0, count: 31).base64EncodedString()) == nil)
        #expect(SecretBox.seal([], nonce: [], key: []) == nil)
    }

    @Test func descriptionsHoldNoKey() throws {
        let text = Data(repeating: 7, count: 32).base64EncodedString()
        #expect("\(try #require(ChannelKey(base64: text)))" == "a channel key")
        #expect("\(try #require(EncryptionMasterKey(base64: text)))" == "an encryption master key")
    }
}
