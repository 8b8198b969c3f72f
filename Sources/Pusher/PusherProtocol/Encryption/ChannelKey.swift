import Basics
import Foundation
import JSONBytes
import Transport

/// The secret that the members of one encrypted channel share (Pusher protocol, "Encrypted channels"). Never printed.
package struct ChannelKey: Hashable, Sendable, Confidential {
    /// The reason why the data of an event could not be decrypted.
    package enum Failure: Error, Hashable, Sendable {
        /// The data is not in the form of encrypted data: no key can decrypt it.
        case malformed
        /// The data was encrypted with another key, or altered in transit.
        case wrongKey
    }

    private let bytes: [UInt8]

    /// Returns `nil` unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == SecretBox.keySize else { return nil }
        self.bytes = bytes
    }

    /// Creates a key from the `shared_secret` of an auth answer; returns `nil` unless it is base64 of 32 bytes.
    package init?(base64: String) {
        guard let data = Data(base64Encoded: base64) else { return nil }
        self.init(Array(data))
    }

    /// A description without the key.
    package var description: String { "a channel key" }

    package var base64: String { Data(bytes).base64EncodedString() }

    /// Decrypts the `data` of an event: a JSON object with `nonce` and `ciphertext`, both base64.
    package func decrypt(_ data: String?) throws(Failure) -> String {
        guard let data else { throw .malformed }
        return String(decoding: try decrypt(Array(data.utf8)), as: UTF8.self)
    }

    /// Decrypts the `data` of an event, as UTF-8.
    package func decrypt(_ data: [UInt8]) throws(Failure) -> [UInt8] {
        guard let (nonce, box) = Self.parts(of: data), nonce.count == SecretBox.nonceSize,
            box.count >= SecretBox.tagSize
        else { throw .malformed }
        guard let content = SecretBox.open(box, nonce: nonce, key: bytes) else { throw .wrongKey }
        guard UTF8Validator.isValid(content) else { throw .malformed }
        return content
    }

    /// Returns the parts of the data: nearly always two strings without escapes. Leaves unusual data to Foundation.
    private static func parts(of data: [UInt8]) -> (nonce: [UInt8], box: [UInt8])? {
        data.withUnsafeBufferPointer { bytes in
            if let (nonce, box) = plainParts(of: bytes) {
                guard let nonce = Base64.decode(UnsafeBufferPointer(rebasing: bytes[nonce])),
                    let box = Base64.decode(UnsafeBufferPointer(rebasing: bytes[box]))
                else { return nil }
                return (nonce, box)
            }
            guard JSONView.isJSON(data), let object = JSONView(data),
                let nonce = object["nonce"]?.string.flatMap({ Data(base64Encoded: $0) }),
                let box = object["ciphertext"]?.string.flatMap({ Data(base64Encoded: $0) })
            else { return nil }
            return (Array(nonce), Array(box))
        }
    }

    private static func plainParts(of data: UnsafeBufferPointer<UInt8>) -> (nonce: Range<Int>, box: Range<Int>)? {
        var (nonce, box): (Range<Int>?, Range<Int>?)
        let isUsual = FlatObject.walk(data, data.indices) { key, value in
            guard !value.hasEscapes else { return false }
            if key.equals("nonce", in: data) {
                guard nonce == nil else { return false }
                nonce = value.start..<value.end
            } else if key.equals("ciphertext", in: data) {
                guard box == nil else { return false }
                box = value.start..<value.end
            }
            return true
        }
        guard isUsual, let nonce, let box else { return nil }
        return (nonce, box)
    }

    /// Encrypts a text and returns the `data` to publish.
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

    /// Returns `nil` unless it is base64 of 32 bytes.
    package init?(base64: String) {
        guard let data = Data(base64Encoded: base64), data.count == SecretBox.keySize else { return nil }
        bytes = Array(data)
    }

    /// A description without the key.
    package var description: String { "an encryption master key" }

    /// Returns a channel's key: SHA-256 over the channel's name and the master key.
    package func key(of channel: ChannelName) -> ChannelKey {
        guard let key = ChannelKey(Digest.sha256(Array(channel.string.utf8) + bytes)) else {
            preconditionFailure("SHA-256 gives 32 bytes")
        }
        return key
    }
}
