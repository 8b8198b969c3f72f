#if JPEGImages
    import Foundation
    import TestSupport
    import Testing

    @testable import TerminalUI

    /// The samples show four quarters: red, green, blue, white. Pillow generated them.
    @Suite struct JPEGTests {
        struct Sample: Decodable {
            let name: String
            let orientation: Int
            let jpeg: Data
        }

        static let samples: [Sample] = {
            let decoder = JSONDecoder()
            decoder.dataDecodingStrategy = .base64
            do {
                return try decoder.decode([Sample].self, from: Fixtures.data("terminal/jpeg.json"))
            } catch {
                Issue.record(error)
                return []
            }
        }()

        private func isNear(_ image: TerminalImage, x: Int, y: Int, _ color: [UInt8]) -> Bool {
            let offset = 4 * (y * image.width + x)
            return zip(image.pixels[offset..<offset + 4], color).allSatisfy { abs(Int($0) - Int($1)) < 32 }
        }

        @Test(arguments: JPEGTests.samples.indices) func everyImageIsUpright(index: Int) throws {
            let sample = Self.samples[index]
            let image = try JPEG.decode(sample.jpeg)
            #expect(image.width == 24 && image.height == 16, "\(sample.name)")
            #expect(isNear(image, x: 4, y: 3, [255, 0, 0, 255]), "\(sample.name)")
            #expect(isNear(image, x: 20, y: 3, [0, 255, 0, 255]), "\(sample.name)")
            #expect(isNear(image, x: 4, y: 12, [0, 0, 255, 255]), "\(sample.name)")
            #expect(isNear(image, x: 20, y: 12, [255, 255, 255, 255]), "\(sample.name)")
        }

        @Test func whatIsCutOrChangedIsRefused_orAnotherImage() throws {
            var random = XorShift(seed: 7)
            for sample in Self.samples {
                for count in 0..<sample.jpeg.count {
                    guard let image = try? JPEG.decode(sample.jpeg.prefix(count)) else { continue }
                    #expect(image.pixels.count == 4 * image.width * image.height)
                }
                for _ in 0..<100 {
                    var bytes = Array(sample.jpeg)
                    bytes[Int.random(in: 2..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                    guard let image = try? JPEG.decode(bytes) else { continue }
                    #expect(image.pixels.count == 4 * image.width * image.height)
                }
            }
        }

        /// Returns a header with that size and no content.
        private func empty(width: Int, height: Int) throws -> [UInt8] {
            var bytes = Array(try #require(Self.samples.first).jpeg)
            let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
            bytes.replaceSubrange(
                frame + 5..<frame + 9,
                with: [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)])
            return bytes
        }

        @Test func sizesAreCheckedBeforeAnythingIsAllocated() throws {
            for (width, height) in [(16_385, 1), (1, 20_000), (16_384, 16_384), (65_535, 65_535), (4_097, 4_097)] {
                let bytes = try empty(width: width, height: height)
                #expect(throws: JPEG.Failure.self) { try JPEG.decode(bytes) }
            }
            #expect(throws: JPEG.Failure.notJPEG) { try JPEG.decode(Array("GIF89a".utf8)) }
            #expect(throws: JPEG.Failure.notJPEG) { try JPEG.decode([]) }
        }

        @Test func aLargeImageIsMadeSmaller() throws {
            let image = try JPEG.decode(empty(width: 4_096, height: 1_000))
            #expect(image.width <= JPEG.largestSide && image.width > JPEG.largestSide / 2)
            #expect(image.height == 500)
            let wide = try JPEG.decode(empty(width: 16_384, height: 9))
            #expect(wide.width == JPEG.largestSide && wide.height == 2)
        }

        @Test func aFileIsReadByWhatItIs() throws {
            let sample = try #require(Self.samples.first)
            #expect(TerminalImage(file: sample.jpeg)?.width == 24)
            #expect(TerminalImage(file: try #require(ImageTests.samples.first).png) != nil)
            #expect(TerminalImage(file: Array("GIF89a".utf8)) == nil)
        }
    }
#endif
