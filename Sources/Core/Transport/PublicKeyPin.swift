import Basics
import CLibcrypto
import Foundation

/// The SHA-256 digest of a server's public key (its certificate's SubjectPublicKeyInfo), by which a client recognises the server
/// whoever has signed the certificate, and whatever name and dates it has.
///
///     let pin = PublicKeyPin("sha256//8Tn6zTR0lY5aoGyQMjrQR7dgAEMT+yTFiCp9LGFkYoI=")
///
/// It holds no secret. The command `doctor` prints it, and so does
/// `openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256`.
public struct PublicKeyPin: Hashable, Sendable, LosslessStringConvertible {
    /// The 32 bytes of the digest.
    public let sha256: [UInt8]

    /// - Parameter sha256: A digest; nil unless it has 32 bytes.
    public init?(sha256: [UInt8]) {
        guard sha256.count == 32 else { return nil }
        self.sha256 = sha256
    }

    /// - Parameter text: `sha256//` and base64 of 32 bytes, the base64 alone, or 64 hexadecimal digits, with a colon after each
    ///   two or without; nil for anything else.
    public init?(_ text: String) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
        // Hexadecimal digits are base64, too, of more bytes. Foundation overlooks what is behind the padding.
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

    /// The key of a certificate; nil if it is none.
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
