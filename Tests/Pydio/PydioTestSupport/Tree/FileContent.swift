import Basics

/// The content of a file: in memory if it is small, otherwise on disk.
enum FileContent: Sendable {
    case memory([UInt8])
    /// The first bytes of a file, which may be shared with longer copies.
    case disk(StoredFile, size: Int)

    static let memoryLimit = 65_536

    init(_ bytes: [UInt8]) throws {
        self = bytes.count <= Self.memoryLimit ? .memory(bytes) : .disk(try StoredFile(bytes), size: bytes.count)
    }

    init(_ upload: UploadedFile) {
        guard let file = upload.file, upload.size > 0 else {
            self = .memory([])
            return
        }
        let fits = upload.size <= Self.memoryLimit
        self = fits ? .memory(file.read(at: 0, count: upload.size)) : .disk(file, size: upload.size)
    }

    var size: Int {
        switch self {
        case .memory(let bytes): bytes.count
        case .disk(_, let size): size
        }
    }

    var body: FakePydioAnswer.Body { body(0..<size) }

    func body(_ range: Range<Int>) -> FakePydioAnswer.Body {
        switch self {
        case .memory(let bytes): .bytes(Array(bytes[range]))
        case .disk(let file, _): .file(file, range)
        }
    }

    func bytes(at offset: Int, count: Int) -> [UInt8] {
        switch self {
        case .memory(let bytes): Array(bytes.dropFirst(offset).prefix(count))
        case .disk(let file, let size): file.read(at: offset, count: min(count, max(size - offset, 0)))
        }
    }

    /// This content followed by `other`. Pending reads keep the old content.
    func appending(_ other: FileContent) throws -> FileContent {
        if case .memory(let bytes) = self, case .memory(let more) = other { return try FileContent(bytes + more) }
        let result: StoredFile
        switch self {
        case .memory(let bytes): result = try StoredFile(bytes)
        case .disk(let file, let size):
            if file.size == size {
                result = file
            } else {
                result = try StoredFile()
                try result.append(file, count: size)
            }
        }
        switch other {
        case .memory(let bytes): try bytes.withUnsafeBytes { try result.append($0) }
        case .disk(let file, let size): try result.append(file, count: size)
        }
        return .disk(result, size: size + other.size)
    }

    var md5: String {
        var offset = 0
        return Digest.md5 {
            let piece = bytes(at: offset, count: 1 << 20)
            offset += piece.count
            return piece
        }
    }
}
