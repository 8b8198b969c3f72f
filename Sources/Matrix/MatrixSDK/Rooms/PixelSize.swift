import Foundation

/// The size of an image, read from the first bytes of its file.
package struct PixelSize: Sendable, Hashable {
    let width: Int
    let height: Int

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
    }

    /// - Returns: `nil` if the size is invalid.
    package init?(_ size: CGSize) {
        self.init(width: Int(exactly: size.width.rounded()), height: Int(exactly: size.height.rounded()))
    }

    /// - Returns: `nil` if the file is not a PNG, GIF or JPEG, or cannot be read.
    init?(ofImage file: URL) {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: 1 << 18) else { return nil }
        self.init(ofImage: Array(data))
    }

    /// - Parameter bytes: The first bytes of the file.
    init?(ofImage bytes: [UInt8]) {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            self.init(width: Self.number(bytes, 16, 4), height: Self.number(bytes, 20, 4))
        } else if bytes.starts(with: "GIF8".utf8) {
            self.init(width: Self.number(bytes, 6, 2)?.byteSwapped16, height: Self.number(bytes, 8, 2)?.byteSwapped16)
        } else if bytes.starts(with: [0xFF, 0xD8]) {
            self.init(ofJPEG: bytes)
        } else {
            return nil
        }
    }

    private init?(width: Int?, height: Int?) {
        guard let width, let height, width > 0, height > 0 else { return nil }
        self.init(width: width, height: height)
    }

    /// Reads the segments up to the frame's.
    private init?(ofJPEG bytes: [UInt8]) {
        var place = 2
        while place + 3 < bytes.count, bytes[place] == 0xFF {
            let marker = bytes[place + 1]
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                self.init(width: Self.number(bytes, place + 7, 2), height: Self.number(bytes, place + 5, 2))
                return
            }
            guard let length = Self.number(bytes, place + 2, 2), length >= 2 else { return nil }
            place += 2 + length
        }
        return nil
    }

    /// Returns a big-endian number, or `nil` beyond the end.
    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int? {
        guard start + count <= bytes.count else { return nil }
        return bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
    }
}

extension Int {
    fileprivate var byteSwapped16: Int { (self & 0xFF) << 8 | self >> 8 }
}
