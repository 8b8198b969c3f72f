import Foundation
import Transport

/// The secret that the members of one encrypted channel share (Pusher protocol, "Encrypted channels"). Never printed.
package struct ChannelKey: Hashable, Sendable, Confidential {
    /// Why the data of an event could not be read.
    package enum Failure: Error, Hashable, Sendable {
        /// It is not what an encrypted event looks like: no key will open it.
        case malformed
        /// It was made with another key, or changed on its way.
        case wrongKey
    }

    private let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == SecretBox.keySize else { return nil }
        self.bytes = bytes
    }

    /// The `shared_secret` of an auth answer; nil unless it is base64 of 32 bytes.
    package init?(base64: String) {
        guard let data = Data(base64Encoded: base64) else { return nil }
        self.init(Array(data))
    }

    /// Nothing of the key.
    package var description: String { "a channel key" }

    package var base64: String { Data(bytes).base64EncodedString() }

    /// The text in the `data` of an event: a JSON object with `nonce` and `ciphertext`, both base64.
    package func decrypt(_ data: String?) throws(Failure) -> String {
        guard let data, let (nonceText, boxText) = Self.parts(of: data), let nonce = Data(base64Encoded: nonceText),
            let box = Data(base64Encoded: boxText), nonce.count == SecretBox.nonceSize,
            box.count >= SecretBox.tagSize
        else { throw .malformed }
        guard let content = SecretBox.open(Array(box), nonce: Array(nonce), key: bytes) else { throw .wrongKey }
        guard let text = String(validating: content, as: UTF8.self) else { throw .malformed }
        return text
    }

    /// Nearly always two strings without escapes; whatever is unusual is left to Foundation.
    private static func parts(of data: String) -> (nonce: Data, ciphertext: Data)? {
        let bytes = Array(data.utf8)
        if let strings = plainParts(of: bytes) { return (Data(bytes[strings.nonce]), Data(bytes[strings.ciphertext])) }
        guard let object = JSON.object(data), let nonce = object["nonce"] as? String,
            let ciphertext = object["ciphertext"] as? String
        else { return nil }
        return (Data(nonce.utf8), Data(ciphertext.utf8))
    }

    private static func plainParts(of data: [UInt8]) -> (nonce: Range<Int>, ciphertext: Range<Int>)? {
        var (nonce, ciphertext): (Range<Int>?, Range<Int>?)
        let isUsual = data.withUnsafeBufferPointer { data in
            FlatObject.walk(data, data.indices) { key, value in
                guard !value.hasEscapes else { return false }
                if key.equals("nonce", in: data) {
                    guard nonce == nil else { return false }
                    nonce = value.start..<value.end
                } else if key.equals("ciphertext", in: data) {
                    guard ciphertext == nil else { return false }
                    ciphertext = value.start..<value.end
                }
                return true
            }
        }
        guard isUsual, let nonce, let ciphertext else { return nil }
        return (nonce, ciphertext)
    }

    /// The `data` to publish for a text.
    ///
    /// - Parameter nonce: 24 bytes, never used before with this key.
    package func encrypt(_ text: String, nonce: [UInt8] = SecretBox.makeNonce()) -> String {
        guard let box = SecretBox.seal(Array(text.utf8), nonce: nonce, key: bytes) else {
            preconditionFailure("libsodium cannot be used")
        }
        return
            #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(Data(box).base64EncodedString())"}"#
    }
}

/// The key from which an application's server derives the key of each encrypted channel. Never printed.
package struct EncryptionMasterKey: Hashable, Sendable, Confidential {
    private let bytes: [UInt8]

    /// Nil unless it is base64 of 32 bytes.
    package init?(base64: String) {
        guard let data = Data(base64Encoded: base64), data.count == SecretBox.keySize else { return nil }
        bytes = Array(data)
    }

    /// Nothing of the key.
    package var description: String { "an encryption master key" }

    /// SHA-256 over the channel's name and the master key.
    package func key(of channel: ChannelName) -> ChannelKey {
        guard let key = ChannelKey(Digest.sha256(Array(channel.string.utf8) + bytes)) else {
            preconditionFailure("SHA-256 gives 32 bytes")
        }
        return key
    }
}
