import CZlib
import Foundation
import TerminalUI
import TestSupport
import Testing

struct ImageTests {
    struct Sample: Decodable, CustomTestStringConvertible {
        let name: String
        let png: Data
        let width: Int
        let height: Int
        let pixels: String

        var testDescription: String { name }

        var bytes: [UInt8] {
            let digits = Array(pixels)
            return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
        }
    }

    static let samples: [Sample] = {
        let decoder = JSONDecoder()
        decoder.dataDecodingStrategy = .base64
        do {
            return try decoder.decode([Sample].self, from: Fixtures.data("terminal/png.json"))
        } catch {
            Issue.record(error)
            return []
        }
    }()

    // MARK: PNG

    @Test(arguments: ImageTests.samples.indices) func images(index: Int) throws {
        let sample = Self.samples[index]
        let image = try PNG.decode(sample.png)
        #expect(image.width == sample.width && image.height == sample.height)
        let bytes = sample.bytes
        #expect(image.pixels.count == bytes.count)
        // The colour of invisible pixels is arbitrary.
        for pixel in stride(from: 0, to: bytes.count, by: 4) where bytes[pixel + 3] > 0 || image.pixels[pixel + 3] > 0 {
            let same = image.pixels[pixel..<pixel + 4] == bytes[pixel..<pixel + 4]
            #expect(same, "\(sample.name), pixel \(pixel / 4): \(image.pixels[pixel..<pixel + 4])")
        }
    }

    @Test func whatIsCutOrChangedIsRefused_orAnotherImage() throws {
        for sample in Self.samples {
            for count in 0..<sample.png.count {
                #expect(throws: PNG.Failure.self, "\(sample.name), \(count) bytes") {
                    try PNG.decode(sample.png.prefix(count))
                }
            }
            var random = XorShift(seed: UInt64(sample.png.count))
            for _ in 0..<100 {
                var bytes = Array(sample.png)
                bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                guard let image = try? PNG.decode(bytes) else { continue }
                #expect(image.pixels.count == 4 * image.width * image.height)
            }
        }
    }

    private static func png(width: UInt32, height: UInt32, data: [UInt8]) -> [UInt8] {
        func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        func chunk(_ kind: String, _ body: [UInt8]) -> [UInt8] {
            number(UInt32(body.count)) + Array(kind.utf8) + body + [0, 0, 0, 0]
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", number(width) + number(height) + [8, 6, 0, 0, 0]) + chunk("IDAT", data) + chunk("IEND", [])
    }

    private static func packed(_ bytes: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: bytes.count + 1000)
        var count = uLongf(result.count)
        compress2(&result, &count, bytes, uLong(bytes.count), 9)
        return Array(result.prefix(Int(count)))
    }

    @Test func sizesAreCheckedBeforeAnythingIsAllocated() {
        for (width, height) in [(16_385, 1), (1, 20_000), (16_384, 16_384), (UInt32.max, UInt32.max), (4097, 4097)] {
            #expect(throws: PNG.Failure.tooLarge) {
                try PNG.decode(Self.png(width: UInt32(width), height: UInt32(height), data: []))
            }
        }
        #expect(throws: PNG.Failure.damaged) { try PNG.decode(Self.png(width: 0, height: 5, data: [])) }
        #expect(throws: PNG.Failure.notPNG) { try PNG.decode(Array("GIF89a".utf8)) }
    }

    /// An image with a small declared size that unpacks to a lot.
    @Test func whatIsMoreThanTheImageIsLeft() throws {
        let bomb = Self.packed([UInt8](repeating: 0, count: 8 << 20))
        let image = try PNG.decode(Self.png(width: 2, height: 2, data: bomb))
        #expect(image.pixels == [UInt8](repeating: 0, count: 16))
        #expect(throws: PNG.Failure.damaged) {
            try PNG.decode(Self.png(width: 20, height: 20, data: Self.packed([0, 0, 0])))
        }
    }

    // MARK: Blurred pictures

    @Test(
        arguments: [
            (
                "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
                [
                    135, 164, 177, 161, 173, 177, 181, 180, 171, 160, 172, 174, 124, 154, 169, 148, 148, 154, 164, 145,
                    134, 146, 152, 155, 124, 144, 154, 144, 134, 132, 163, 130, 104, 148, 140, 134,
                ]
            ),
            (
                "LGF5]+Yk^6#M@-5c,1J5@[or[Q6.",
                [
                    176, 118, 163, 167, 119, 184, 118, 100, 169, 167, 79, 126, 149, 142, 180, 109, 138, 198, 113, 117,
                    143, 149, 108, 109, 145, 161, 153, 92, 153, 178, 100, 129, 135, 119, 116, 108,
                ]
            ),
            ("00TI:j", Array(repeating: [255, 0, 0], count: 12).flatMap { $0 }),
        ] as [(String, [Int])])
    func blurredPictures(hash: String, colors: [Int]) throws {
        let image = try #require(BlurHash.image(hash, width: 4, height: 3))
        let shown = image.pixels.enumerated().filter { $0.offset % 4 != 3 }.map { Int($0.element) }
        // Rounding may differ by one.
        #expect(zip(shown, colors).allSatisfy { abs($0 - $1) <= 1 } && shown.count == colors.count, "\(shown)")
    }

    @Test func whatIsNoBlurredPictureIsNone() {
        for hash in [
            "", "L", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "LEHV6nWB2yk8pyo0adR*.7kCMdnjj", "~EHV6nWB2yk8pyo0adR*.7kCMdnj",
            "00TI:é",
        ] {
            #expect(BlurHash.image(hash, width: 4, height: 3) == nil, "\(hash)")
        }
    }

    // MARK: On screen

    private static let size = TerminalSize(columns: 6, rows: 6)

    /// Returns a screen with the rows of an image from `first` on, placed at `row`.
    private static func placed(
        _ image: TerminalImage, columns: Int, rows: Int, at row: Int = 1, first: Int = 0
    ) -> TerminalSurface {
        var surface = TerminalSurface(size)
        let lines = image.lines(TerminalSize(columns: columns, rows: rows), id: 7)
        for (index, line) in lines.dropFirst(first).enumerated() { surface.draw(line, column: 1, row: row + index) }
        return surface
    }

    private static let image = TerminalImage(
        width: 2, height: 2, pixels: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 9, 9, 0])

    @Test func anImageIsHalfBlocksWhereTheTerminalHasNoGraphics() throws {
        var painter = ScreenPainter(.init(colors: .rgb))
        var screen = TerminalScreen(columns: 6)
        screen.feed(painter.paint(Self.placed(try #require(Self.image), columns: 2, rows: 1)).utf8)
        #expect(screen.cell(row: 1, column: 1).text == "▀")
        #expect(screen.cell(row: 1, column: 1).style == ["38;2;255;0;0", "48;2;0;0;255"])
        #expect(screen.cell(row: 1, column: 2).style == ["38;2;0;255;0"])
        screen.feed(painter.paint(TerminalSurface(Self.size)).utf8)
        #expect(screen.lines.allSatisfy { $0.isEmpty })
    }

    @Test func kittyGetsThePixelsOnceAndIsToldWhereTheyAreAndWhenTheyAreGone() throws {
        var painter = ScreenPainter(.init(colors: .rgb, graphics: .kitty))
        let image = try #require(Self.image)
        let bytes = painter.paint(Self.placed(image, columns: 2, rows: 2))
        #expect(bytes.contains("\u{1B}[2;2H\u{1B}_Ga=t,f=32,s=2,v=2,i=7,o=z,q=2,m=0;"))
        #expect(bytes.contains("\u{1B}_Ga=p,i=7,p=2,x=0,y=0,w=2,h=2,c=2,r=2,C=1,q=2\u{1B}\\"))
        #expect(!bytes.contains("▀"))
        var other = Self.placed(image, columns: 2, rows: 2)
        other.draw("x", row: 0)
        #expect(!painter.paint(other).contains("_G"))
        // Its top row has left the screen.
        let scrolled = painter.paint(Self.placed(image, columns: 2, rows: 2, at: 0, first: 1))
        #expect(scrolled.contains("\u{1B}_Ga=d,d=i,i=7,p=2,q=2\u{1B}\\"))
        #expect(scrolled.contains("\u{1B}[1;2H\u{1B}_Ga=p,i=7,p=1,x=0,y=1,w=2,h=1,c=2,r=1,C=1,q=2\u{1B}\\"))
        #expect(!scrolled.contains("a=t"))
        #expect(painter.paint(TerminalSurface(Self.size)).contains("\u{1B}_Ga=d,d=i,i=7,p=1,q=2\u{1B}\\"))
    }

    /// Anything drawn over an image, or cutting it off, leaves the content below visible as cells.
    @Test func anImageIsNeverOverWhatIsDrawnLater() throws {
        let image = try #require(Self.image)
        for graphics in [GraphicsProtocol.kitty, .sixel(cell: PixelSize(width: 4, height: 6))] {
            var painter = ScreenPainter(.init(colors: .rgb, graphics: graphics))
            var screen = TerminalScreen(columns: 6)
            var surface = Self.placed(image, columns: 2, rows: 2)
            surface.draw("abc", column: 2, row: 1)
            #expect(surface.lines[1].image == nil && surface.lines[2].image != nil)
            let line = try #require(image.lines(TerminalSize(columns: 2, rows: 1), id: 8).first)
            surface.draw(line, column: 5, row: 4)
            #expect(surface.lines[4].image == nil)
            screen.feed(painter.paint(surface).utf8)
            #expect(screen.lines[1] == " ▀abc" && screen.lines[4] == "     ▀")
        }
    }

    /// A model of kitty. After any scrolling, it shows the same as with a new painter.
    @Test func scrollingLeavesTheSameAsPaintingAnew() throws {
        struct Model: Equatable {
            /// Places by image and placement.
            var shown: [String: String] = [:]
            var known: Set<String> = []

            mutating func feed(_ bytes: String) throws {
                for part in bytes.split(separator: "\u{1B}_G", omittingEmptySubsequences: false).dropFirst() {
                    let place = bytes[..<part.startIndex].split(separator: "\u{1B}[").last { $0.contains("H") }
                    let control = part.prefix { $0 != ";" && $0 != "\u{1B}" }
                    let keys = Dictionary(
                        control.split(separator: ",").map { ($0.prefix(1), String($0.dropFirst(2))) }
                    ) { $1 }
                    let id = keys["i"] ?? ""
                    switch (keys["a"], keys["d"]) {
                    case ("t", _): known.insert(id)
                    case ("p", _):
                        #expect(known.contains(id))
                        shown["\(id) \(keys["p"] ?? "")"] = "\(place?.prefix { $0 != "H" } ?? "") \(control)"
                    case ("d", "i"): shown["\(id) \(keys["p"] ?? "")"] = nil
                    case ("d", "A"): (shown, known) = ([:], [])
                    default: Issue.record("\(control)")
                    }
                }
            }
        }
        var random = XorShift(seed: 5)
        let image = try #require(Self.image)
        var lines: [TerminalLine] = []
        for id in 1...12 {
            let size = TerminalSize(columns: 2, rows: Int.random(in: 1...4, using: &random))
            lines += image.lines(size, id: UInt32(id)) + [TerminalLine(StyledText("text \(id)"))]
        }
        var (painter, model) = (ScreenPainter(.init(colors: .rgb, graphics: .kitty)), Model())
        for _ in 0..<200 {
            let top = Int.random(in: 0..<lines.count, using: &random)
            var surface = TerminalSurface(Self.size)
            for (row, line) in lines.dropFirst(top).prefix(6).enumerated() { surface.draw(line, column: 1, row: row) }
            try model.feed(painter.paint(surface))
            var (fresh, expected) = (ScreenPainter(.init(colors: .rgb, graphics: .kitty)), Model())
            try expected.feed(fresh.paint(surface))
            #expect(model.shown == expected.shown)
        }
    }

    @Test func kittyKeepsNoMoreThanItHasRoomFor() throws {
        var random = XorShift(seed: 3)
        var painter = ScreenPainter(.init(colors: .rgb, graphics: .kitty))
        var forgotten = 0
        for id in 1...20 {
            // Noise does not compress.
            let pixels = (0..<4 * 300 * 240).map { _ in UInt8.random(in: 0...255, using: &random) }
            let noise = try #require(TerminalImage(width: 300, height: 240, pixels: pixels))
            var surface = TerminalSurface(Self.size)
            for (row, line) in noise.lines(TerminalSize(columns: 2, rows: 2), id: UInt32(id)).enumerated() {
                surface.draw(line, row: row)
            }
            forgotten += painter.paint(surface).contains("d=I") ? 1 : 0
        }
        #expect(forgotten >= 9)
    }

    @Test func sixelsAreWhatTheImageIs() throws {
        let cell = PixelSize(width: 10, height: 20)
        var painter = ScreenPainter(.init(colors: .rgb, graphics: .sixel(cell: cell)))
        let red = try #require(TerminalImage(width: 1, height: 1, pixels: [255, 0, 0, 255]))
        let bytes = painter.paint(Self.placed(red, columns: 1, rows: 1))
        #expect(bytes.contains("\u{1B}P0;1;0q\"1;1;10;20#0;2;0;0;0"))
        #expect(bytes.contains("#180;2;100;0;0"))
        // Three bands of six rows and one of two rows: ten columns with all bits, and with two bits.
        #expect(bytes.contains("#180!10~-#180!10~-#180!10~-#180!10B\u{1B}\\"))
        // Changing text beside it may erase a part of it.
        var other = Self.placed(red, columns: 1, rows: 1)
        #expect(painter.paint(other).isEmpty)
        other.draw("x", column: 4, row: 0)
        #expect(!painter.paint(other).contains("\u{1B}P"))
        other.draw("x", column: 4, row: 1)
        #expect(painter.paint(other).contains("\u{1B}P"))
        // Blanks replace it.
        let gone = painter.paint(TerminalSurface(Self.size))
        #expect(gone.contains("\u{1B}[2;1H\u{1B}[K") && !gone.contains("\u{1B}P"))
    }

    // MARK: Querying the terminal

    private static func graphics(_ replies: TerminalReply...) -> GraphicsProtocol {
        var queries = TerminalQueries()
        for reply in replies { queries.received(reply) }
        return queries.graphics
    }

    @Test func onlyWhatIsAnsweredInTimeCounts() {
        #expect(Self.graphics(.attributes([62, 4])) == .halfBlocks)
        #expect(
            Self.graphics(.cellSize(width: 9, height: 18), .attributes([62, 4]))
                == .sixel(cell: PixelSize(width: 9, height: 18)))
        #expect(Self.graphics(.cellSize(width: 9, height: 18), .attributes([62, 22])) == .halfBlocks)
        #expect(Self.graphics(.cellSize(width: 0, height: 100_000), .attributes([62, 4])) == .halfBlocks)
        #expect(Self.graphics(.graphics(id: 31, isOK: true), .attributes([62, 4])) == .kitty)
        #expect(Self.graphics(.graphics(id: 31, isOK: false), .attributes([62])) == .halfBlocks)
        #expect(Self.graphics(.graphics(id: 5, isOK: true), .attributes([62])) == .halfBlocks)
        #expect(Self.graphics(.attributes([62]), .graphics(id: 31, isOK: true)) == .halfBlocks)
        #expect(
            Self.graphics(.attributes([62]), .cellSize(width: 9, height: 18), .attributes([62, 4])) == .halfBlocks)
    }

    @Test(
        arguments: [
            (["TERM": "xterm-kitty"], true), (["TERM": "xterm-256color"], true), (["TERM": "tmux-256color"], false),
            (["TERM": "screen.xterm"], false), (["TERM": "xterm", "TMUX": "/tmp/x,1,0"], false),
            (["TERM": "xterm", "STY": "1.pts"], false), (["TERM": "linux"], false), ([:], false),
        ] as [([String: String], Bool)])
    func multiplexersAreNotAskedForGraphics(environment: [String: String], isAsked: Bool) {
        #expect(TerminalQueries.canAskForGraphics { environment[$0] } == isAsked)
        #expect(TerminalQueries.text(asksForGraphics: isAsked).contains("\u{1B}_G") == isAsked)
    }

    @Test func imagesKeepTheirProportions() throws {
        let image = try #require(TerminalImage(width: 400, height: 100, pixels: .init(repeating: 0, count: 160_000)))
        #expect(image.cells(within: TerminalSize(columns: 40, rows: 20)) == TerminalSize(columns: 40, rows: 5))
        #expect(image.cells(within: TerminalSize(columns: 400, rows: 5)) == TerminalSize(columns: 40, rows: 5))
        let small = try #require(TerminalImage(width: 4, height: 4, pixels: .init(repeating: 0, count: 64)))
        #expect(small.cells(within: TerminalSize(columns: 40, rows: 20)) == TerminalSize(columns: 4, rows: 2))
    }
}
