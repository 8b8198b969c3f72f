import Glibc
import NIOCore

/// Parses a multipart body as it arrives: small parts stay in memory, the file goes to disk.
struct MultipartReader {
    struct Malformed: Error {}

    private enum Place {
        case preamble
        case head
        case body(Part)
        case epilogue
    }

    private struct Part {
        var name = ""
        var fileName: String?
        var value: [UInt8] = []
        var file: StoredFile?
    }

    private let delimiter: [UInt8]
    private var place = Place.preamble
    private var buffer: [UInt8]
    private(set) var form = FormParameters()
    private(set) var upload: UploadedFile?

    private static let headLimit = 65_536
    private static let valueLimit = 1 << 20

    /// - Parameter contentType: Its `boundary` ends each part.
    init?(contentType: String) {
        guard contentType.lowercased().hasPrefix("multipart/form-data"),
            let boundary = Self.parameter("boundary", of: contentType), !boundary.isEmpty
        else { return nil }
        delimiter = Array("\r\n--\(boundary)".utf8)
        buffer = Array("\r\n".utf8)  // makes the first delimiter look like the others
    }

    mutating func read(_ bytes: ByteBuffer) throws {
        if case .body(let part) = place, part.fileName != nil, buffer.isEmpty {
            try bytes.withUnsafeReadableBytes { try take($0) }
        } else {
            buffer.append(contentsOf: bytes.readableBytesView)
            let pending = buffer
            buffer = []
            try pending.withUnsafeBytes { try take($0) }
        }
    }

    func finish() throws {
        guard case .epilogue = place else { throw Malformed() }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while !rest.isEmpty {
            switch place {
            case .epilogue: return
            case .preamble:
                guard let start = Self.find(delimiter, in: rest) else { return keep(rest, atMost: delimiter.count) }
                guard rest.count >= start + delimiter.count + 2 else { return keep(rest, atMost: .max) }
                rest = delimiterEnded(rest, at: start)
            case .head:
                guard let end = Self.find(Array("\r\n\r\n".utf8), in: rest) else {
                    guard rest.count < Self.headLimit else { throw Malformed() }
                    return keep(rest, atMost: .max)
                }
                place = .body(try Self.part(String(decoding: rest[..<end], as: UTF8.self)))
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 4)...])
            case .body(var part):
                place = .preamble
                let end = Self.find(delimiter, in: rest)
                // A possible start of a delimiter is examined again with the next bytes.
                let count = end ?? Self.certain(rest, before: delimiter)
                try Self.append(UnsafeRawBufferPointer(rebasing: rest[..<count]), to: &part)
                guard let end, rest.count >= end + delimiter.count + 2 else {
                    place = .body(part)
                    return keep(UnsafeRawBufferPointer(rebasing: rest[count...]), atMost: .max)
                }
                finish(part)
                rest = delimiterEnded(rest, at: end)
            }
        }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer, atMost count: Int) {
        buffer = Array(bytes.suffix(min(count, bytes.count)))
    }

    /// After a delimiter, two hyphens end the body; otherwise the line ends and a head begins.
    private mutating func delimiterEnded(_ bytes: UnsafeRawBufferPointer, at start: Int) -> UnsafeRawBufferPointer {
        let end = start + delimiter.count
        place = bytes[end] == UInt8(ascii: "-") && bytes[end + 1] == UInt8(ascii: "-") ? .epilogue : .head
        return UnsafeRawBufferPointer(rebasing: bytes[(end + 2)...])
    }

    private mutating func finish(_ part: Part) {
        if let name = part.fileName {
            upload = UploadedFile(name: name, part: part.name, size: part.file?.size ?? 0, file: part.file)
        } else {
            form.append(part.name, String(decoding: part.value, as: UTF8.self))
        }
    }

    private static func append(_ bytes: UnsafeRawBufferPointer, to part: inout Part) throws {
        guard part.fileName != nil else {
            part.value += bytes
            guard part.value.count <= valueLimit else { throw Malformed() }
            return
        }
        if part.file == nil { part.file = try StoredFile() }
        if !bytes.isEmpty { try part.file?.append(bytes) }
    }

    private static func part(_ head: String) throws -> Part {
        guard
            let line = head.split(separator: "\r\n").first(where: {
                $0.lowercased().hasPrefix("content-disposition:")
            }), let name = parameter("name", of: String(line))
        else { throw Malformed() }
        return Part(name: name, fileName: parameter("filename", of: String(line)))
    }

    /// The value in `name=value` or `name="value"` after a semicolon.
    private static func parameter(_ name: String, of field: String) -> String? {
        for piece in field.split(separator: ";").dropFirst() {
            let pair = piece.split(separator: "=", maxSplits: 1).map { String($0).trimmingSpace }
            guard pair.count == 2, pair[0].lowercased() == name else { continue }
            let value = pair[1]
            return value.count > 1 && value.hasPrefix("\"") && value.hasSuffix("\"")
                ? String(value.dropFirst().dropLast()) : value
        }
        return nil
    }

    private static func find(_ pattern: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int? {
        var start = 0
        while bytes.count - start >= pattern.count, let base = bytes.baseAddress?.advanced(by: start),
            let found = memchr(base, Int32(pattern[0]), bytes.count - start - pattern.count + 1)
        {
            guard memcmp(found, pattern, pattern.count) != 0 else { return start + (UnsafeRawPointer(found) - base) }
            start += UnsafeRawPointer(found) - base + 1
        }
        return nil
    }

    /// The number of bytes that cannot belong to an incomplete delimiter.
    private static func certain(_ bytes: UnsafeRawBufferPointer, before delimiter: [UInt8]) -> Int {
        var count = max(bytes.count - delimiter.count + 1, 0)
        while count < bytes.count, !delimiter.starts(with: bytes[count...]) { count += 1 }
        return count
    }
}
