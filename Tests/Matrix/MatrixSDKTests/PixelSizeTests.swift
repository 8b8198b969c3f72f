import Foundation
import Testing

@testable import MatrixSDK

struct PixelSizeTests {
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 1, 2, 0, 0, 0, 3]
    private static let gif: [UInt8] = Array("GIF89a".utf8) + [2, 1, 3, 0]
    /// An application segment, a table, the frame.
    private static let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xC4, 0, 3, 9, 0xFF, 0xC2, 0, 17, 8, 0, 3, 1, 2]

    @Test(arguments: [png, gif, jpeg])
    func itIsReadFromTheFirstBytes(image: [UInt8]) {
        #expect(PixelSize(ofImage: image) == PixelSize(width: 258, height: 3))
    }

    @Test(arguments: [png, gif, jpeg])
    func whatIsCutOrChangedDoesNoHarm(image: [UInt8]) {
        for length in 0..<image.count { #expect(PixelSize(ofImage: Array(image.prefix(length))) == nil) }
        for place in image.indices {
            var other = image
            for byte in [0, 0x7F, 0xFF] as [UInt8] {
                other[place] = byte
                _ = PixelSize(ofImage: other)
            }
        }
        #expect(PixelSize(ofImage: Array("RIFF____WEBP".utf8)) == nil)
    }

    @Test func sizesThatAreNoneAreNone() {
        for size in [
            CGSize(width: Double.nan, height: 1), CGSize(width: 0, height: 1), CGSize(width: 1e300, height: 1),
        ] {
            #expect(PixelSize(size) == nil)
        }
        #expect(PixelSize(CGSize(width: 1.6, height: 3)) == PixelSize(width: 2, height: 3))
    }
}
