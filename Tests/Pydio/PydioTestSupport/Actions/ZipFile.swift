/// A zip archive whose files are stored uncompressed.
enum ZipFile {
    private struct Entry {
        let name: [UInt8]
        let crc: UInt32
        let size: UInt32
        let offset: UInt32
    }

    static func make(_ nodes: [(TreePath, Node)]) throws -> StoredFile {
        let file = try StoredFile()
        var entries: [Entry] = []
        var files: [(String, FileContent?)] = []
        for (path, node) in nodes {
            node.forEach(at: path) { below, node in
                let name = below.relative(to: path.parent).pieces.joined(separator: "/")
                files.append(node.isFolder ? (name + "/", nil) : (name, node.content))
            }
        }
        for (name, content) in files { entries.append(try add(name, content, to: file)) }
        let start = file.size
        for entry in entries { try append(central(entry), to: file) }
        let size = UInt32(truncatingIfNeeded: file.size - start)
        let count = UInt16(truncatingIfNeeded: entries.count)
        let end: [UInt8] =
            little(UInt32(0x0605_4B50)) + little(UInt16(0)) + little(UInt16(0)) + little(count) + little(count)
            + little(size) + little(UInt32(truncatingIfNeeded: start)) + little(UInt16(0))
        try append(end, to: file)
        return file
    }

    private static func add(_ name: String, _ content: FileContent?, to file: StoredFile) throws -> Entry {
        let entry = Entry(
            name: Array(name.utf8), crc: content.map(crc) ?? 0, size: UInt32(truncatingIfNeeded: content?.size ?? 0),
            offset: UInt32(truncatingIfNeeded: file.size))
        try append(little(UInt32(0x0403_4B50)) + shared(entry) + little(UInt16(0)) + entry.name, to: file)
        try pieces(of: content) { try append($0, to: file) }
        return entry
    }

    /// The common part of a file's two headers: version, flags (names are UTF-8), method, time, sums and sizes.
    private static func shared(_ entry: Entry) -> [UInt8] {
        little(UInt16(20)) + little(UInt16(0x0800)) + little(UInt16(0)) + little(UInt16(0)) + little(UInt16(0x21))
            + little(entry.crc) + little(entry.size) + little(entry.size) + little(UInt16(entry.name.count))
    }

    private static func central(_ entry: Entry) -> [UInt8] {
        little(UInt32(0x0201_4B50)) + little(UInt16(20)) + shared(entry) + little(UInt16(0)) + little(UInt16(0))
            + little(UInt16(0)) + little(UInt16(0)) + little(UInt32(0)) + little(entry.offset) + entry.name
    }

    private static func pieces(of content: FileContent?, _ body: ([UInt8]) throws -> Void) rethrows {
        var offset = 0
        while let piece = content?.bytes(at: offset, count: 1 << 20), !piece.isEmpty {
            try body(piece)
            offset += piece.count
        }
    }

    private static func append(_ bytes: [UInt8], to file: StoredFile) throws {
        try bytes.withUnsafeBytes { try file.append($0) }
    }

    private static func little<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    private static func crc(_ content: FileContent) -> UInt32 {
        var value = UInt32.max
        pieces(of: content) { piece in
            for byte in piece { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
        }
        return ~value
    }
}
