package import JSONBytes

/// A message's description of an encrypted file: how to decrypt it, and the hash of the upload.
///
/// In the content, it is `file` and replaces `url`; for a thumbnail it is `info.thumbnail_file`.
package struct EncryptedFile: Sendable, Equatable {
    /// 32 bytes.
    package let key: SecretBytes
    /// 16 bytes.
    package let iv: [UInt8]
    /// SHA-256 of the ciphertext.
    package let hash: [UInt8]
    /// The address of the ciphertext (`mxc://…`); `nil` until it is uploaded.
    package var url: String?

    init(key: SecretBytes, iv: [UInt8], hash: [UInt8]) {
        self.key = key
        self.iv = iv
        self.hash = hash
    }

    /// - Throws: `attachmentVersion` if it is not version 2 with AES-256 in CTR, `attachmentKey` if the key or IV has
    ///   the wrong length, `hash` if there is none, and `base64`.
    package init(_ json: JSONView) throws(EncryptionError) {
        guard json["v"]?.string == "v2", let key = json["key"], key["alg"]?.string == "A256CTR",
            key["kty"]?.string == "oct"
        else { throw .attachmentVersion }
        guard let keyText = key["k"]?.string, let ivText = json["iv"]?.string else { throw .attachmentKey }
        guard let hashText = json["hashes"]?["sha256"]?.string else { throw .hash }
        self.key = try UnpaddedBase64.decodeSecretForURL(keyText)
        iv = try UnpaddedBase64.decode(ivText)
        hash = try UnpaddedBase64.decode(hashText)
        url = json["url"]?.string
        guard self.key.count == 32, iv.count == 16 else { throw .attachmentKey }
        guard hash.count == 32 else { throw .hash }
    }

    package var json: JSONView {
        var key = JSONWriter()
        key.add("kty", "oct")
        key.add("key_ops", json: #"["encrypt","decrypt"]"#)
        key.add("alg", "A256CTR")
        key.add("k", UnpaddedBase64.encodeForURL(self.key))
        key.add("ext", json: "true")
        var hashes = JSONWriter()
        hashes.add("sha256", UnpaddedBase64.encode(hash))
        var file = JSONWriter()
        if let url { file.add("url", url) }
        file.add("v", "v2")
        file.add("iv", UnpaddedBase64.encode(iv))
        file.add("hashes", hashes)
        file.add("key", key)
        return file.view
    }

    package static func == (lhs: EncryptedFile, rhs: EncryptedFile) -> Bool {
        lhs.key == rhs.key && lhs.iv == rhs.iv && lhs.hash == rhs.hash && lhs.url == rhs.url
    }
}

/// Encrypts a file for upload, piece by piece.
package struct AttachmentEncryptor: ~Copyable, Sendable {
    private let key: SecretBytes
    private let iv: [UInt8]
    private var hash = SHA256()
    private var offset = 0

    /// Creates an encryptor for one file. Each file needs its own key and IV, thumbnails included.
    package init(random: RandomSource) {
        key = random.secret(32)
        // The lower half counts blocks and must not overflow: some implementations stop at 64 bits.
        iv = random.bytes(8) + [UInt8](repeating: 0, count: 8)
    }

    /// - Parameter piece: The next piece, below 2 GiB.
    /// - Returns: The piece's ciphertext, of the same length.
    package mutating func encrypt(_ piece: [UInt8]) -> [UInt8] {
        let ciphertext = AES256.ctr(piece, at: offset, key: key, iv: iv)
        hash.update(ciphertext)
        offset += piece.count
        return ciphertext
    }

    package consuming func finish() -> EncryptedFile {
        let (key, iv) = (key, iv)
        return EncryptedFile(key: key, iv: iv, hash: hash.finish())
    }
}

/// Checks a download against its hash. Only a successful check gives access to the decryptor, so no byte of a damaged
/// or swapped file is ever shown.
package struct AttachmentCheck: ~Copyable, Sendable {
    private let file: EncryptedFile
    private var hash = SHA256()

    package init(of file: EncryptedFile) { self.file = file }

    /// - Parameter piece: The next piece of the ciphertext.
    package mutating func update(_ piece: [UInt8]) { hash.update(piece) }

    /// - Throws: `hash`; delete the download in this case.
    package consuming func finish() throws(EncryptionError) -> AttachmentDecryptor {
        let file = file
        guard SecretBytes(hash.finish()) == SecretBytes(file.hash) else { throw .hash }
        return AttachmentDecryptor(file: file)
    }
}

/// Decrypts a checked file, piece by piece from its beginning.
package struct AttachmentDecryptor: Sendable {
    private let file: EncryptedFile
    private var offset = 0

    fileprivate init(file: EncryptedFile) { self.file = file }

    /// - Parameter piece: The next piece, below 2 GiB.
    package mutating func decrypt(_ piece: [UInt8]) -> [UInt8] {
        defer { offset += piece.count }
        return AES256.ctr(piece, at: offset, key: file.key, iv: file.iv)
    }
}
