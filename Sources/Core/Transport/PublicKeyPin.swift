import Basics
import CLibcrypto
import Foundation

/// The SHA-256 digest of a server's public key (its certificate's SubjectPublicKeyInfo). A client uses it to recognise
/// the server, whatever the issuer, name and dates of its certificate.
///
///     let pin = PublicKeyPin("sha256//8Tn6zTR0lY5aoGyQMjrQR7dgAEMT+yTFiCp9LGFkYoI=")
///
/// The pin is not a secret. To get it, use the command `doctor`, or
/// `openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256`.
public struct PublicKeyPin: Hashable, Sendable, LosslessStringConvertible {
    /// The 32 bytes of the digest.
    public let sha256: [UInt8]

    /// Creates a pin from a digest. Returns nil unless it has 32 bytes.
    ///
    /// - Parameter sha256: The digest.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// Creates a pin from text. Returns nil if the text has none of the supported forms.
    ///
    /// - Parameter text: `sha256//` and base64 of 32 bytes, the base64 alone, or 64 hexadecimal digits, optionally with
    ///   a colon after every two.
    public init?(_ text: String) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
        // Hexadecimal digits are also valid base64 for more bytes. Foundation ignores text after the padding.
        let data = Data(base64Encoded: base64).flatMap { $0.base64EncodedString() == base64 ? $0 : nil }
        self.init(sha256: Self.bytes(hexadecimal: text) ?? Array(data ?? Data()))
    }

    private static let prefix = "sha256//"

    private static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        let step = digits.count == 95 ? 3 : 2
        guard digits.count == 64 || digits.count == 95 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count, by: step) {
            guard digits[start].isHexadecimal, digits[start + 1].isHexadecimal,
                let byte = UInt8(String(decoding: digits[start...(start + 1)], as: UTF8.self), radix: 16)
            else { return nil }
            if step == 3, start + 2 < digits.count, digits[start + 2] != UInt8(ascii: ":") { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// `sha256//` and the digest in base64.
    public var description: String { Self.prefix + Data(sha256).base64EncodedString() }

    /// Creates the pin of a certificate's key. Returns nil if the text is not a certificate.
    ///
    /// - Parameter certificate: PEM text.
    package init?(certificate: String) {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let lines = certificate.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }
        guard let der = Data(base64Encoded: lines.joined()) else { return nil }
        let info = Array(der).withUnsafeBufferPointer { bytes -> [UInt8]? in
            var start = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &start, bytes.count) else { return nil }
            defer { X509_free(certificate) }
            let key = X509_get_X509_PUBKEY(certificate)
            let count = Int(i2d_X509_PUBKEY(key, nil))
            guard count > 0 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: count) { memory, written in
                var end = memory.baseAddress
                written = max(Int(i2d_X509_PUBKEY(key, &end)), 0)
            }
        }
        guard let info else { return nil }
        self.init(sha256: Digest.sha256(info))
    }
}

extension UInt8 {
    fileprivate var isHexadecimal: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
