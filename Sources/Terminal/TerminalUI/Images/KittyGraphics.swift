import CZlib
import Foundation

/// Kitty's graphics protocol: <https://sw.kovidgoyal.net/kitty/graphics-protocol/>.
///
/// The pixels are sent once. After that, an image, or those of its rows that are on the screen, is placed and removed
/// by its ID. Placements of an image are identified by their row on the screen.
struct KittyGraphics: Sendable {
    static let deleteAll = "\u{1B}_Ga=d,d=A,q=2\u{1B}\\"

    /// The size of the base64 data in one sequence.
    private static let chunk = 4096
    /// The maximum size of off-screen images that the terminal keeps, in bytes as sent.
    private static let maximumKept = 4 << 20

    private struct Sent: Sendable {
        let id: UInt32
        let bytes: Int
    }

    /// The images that the terminal has, the least recently used first.
    private var sent: [Sent] = []

    /// Assumes that the terminal no longer has any images.
    mutating func forget() { sent = [] }

    func removing(_ placement: ImagePlacement) -> String {
        "\u{1B}_Ga=d,d=i,i=\(placement.id),p=\(placement.rows.lowerBound + 1),q=2\u{1B}\\"
    }

    /// Places it at the cursor, which does not move.
    mutating func placing(_ placement: ImagePlacement) -> String {
        let (image, rows) = (placement.first.image, placement.size.rows)
        var output = ""
        if let index = sent.firstIndex(where: { $0.id == placement.id }) {
            sent.append(sent.remove(at: index))
        } else {
            output = Self.sending(image, id: placement.id)
            sent.append(Sent(id: placement.id, bytes: output.utf8.count))
        }
        let top = placement.imageRows.lowerBound * image.height / rows
        let bottom = max(placement.imageRows.upperBound * image.height / rows, top + 1)
        output +=
            "\u{1B}_Ga=p,i=\(placement.id),p=\(placement.rows.lowerBound + 1),x=0,y=\(top),w=\(image.width),"
            + "h=\(bottom - top),c=\(placement.size.columns),r=\(placement.rows.count),C=1,q=2\u{1B}\\"
        return output
    }

    /// Makes the terminal discard images that were shown long ago.
    mutating func forgettingOld(shown: Set<UInt32>) -> String {
        var (output, kept) = ("", sent.reduce(0) { $0 + $1.bytes })
        sent.removeAll { image in
            guard kept > Self.maximumKept, !shown.contains(image.id) else { return false }
            kept -= image.bytes
            output += "\u{1B}_Ga=d,d=I,i=\(image.id),q=2\u{1B}\\"
            return true
        }
        return output
    }

    private static func sending(_ image: TerminalImage, id: UInt32) -> String {
        let packed = packed(image.pixels)
        let data = Array(Data(packed ?? image.pixels).base64EncodedString().utf8)
        var result = ""
        for start in stride(from: 0, to: data.count, by: chunk) {
            let end = min(start + chunk, data.count)
            let keys =
                start > 0
                ? ""
                : "a=t,f=32,s=\(image.width),v=\(image.height),i=\(id),\(packed == nil ? "" : "o=z,")"
            let part = String(decoding: data[start..<end], as: UTF8.self)
            result += "\u{1B}_G\(keys)q=2,m=\(end < data.count ? 1 : 0);\(part)\u{1B}\\"
        }
        return result
    }

    private static func packed(_ bytes: [UInt8]) -> [UInt8]? {
        var result = [UInt8](repeating: 0, count: Int(compressBound(uLong(bytes.count))))
        var count = uLongf(result.count)
        guard compress2(&result, &count, bytes, uLong(bytes.count), 1) == Z_OK else { return nil }
        return Array(result.prefix(Int(count)))
    }
}
