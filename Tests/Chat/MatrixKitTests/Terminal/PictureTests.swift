import Foundation
import MatrixKitTerminal
import TerminalUI
import TestSupport
import Testing

@testable import MatrixKit

/// Images in a room on a terminal.
@MainActor
struct PictureTests {
    private struct Sample: Decodable { var png: Data }

    static func png() throws -> Data {
        let decoder = JSONDecoder()
        decoder.dataDecodingStrategy = .base64
        return try #require(decoder.decode([Sample].self, from: Fixtures.data("terminal/png.json")).first).png
    }

    /// A room whose only message is an image with this `info`.
    private static func room(_ info: String, _ fetch: @escaping (MXKAttachment) async throws -> Data) throws -> (
        MXKRoomViewController, BubbleScript
    ) {
        var story = try Story()
        try story.add(
            "m.room.message", "@b:s",
            #"{"msgtype":"m.image","body":"plan.png","url":"mxc://s/i","info":{\#(info)}}"#)
        let script = BubbleScript()
        script.live(story)
        let controller = MXKRoomViewController()
        controller.layoutOptions.showsImages = true
        controller.thumbnails = ThumbnailStore(fetch: fetch)
        controller.displayRoom(script.source)
        script.source.setState(.ready)
        return (controller, script)
    }

    private static func blocks(_ controller: MXKRoomViewController) -> Int {
        controller.draw(columns: 80, rows: 24).text.count { $0.contains("▀") }
    }

    private static let blur = #""xyz.amorgan.blurhash":"LEHV6nWB2yk8pyo0adR*.7kCMdnj""#

    @Test func anImageIsBlurredUntilItsThumbnailIsThere() async throws {
        let png = try Self.png()
        let (controller, script) = try Self.room("\"w\":640,\"h\":480,\(Self.blur)") { _ in png }
        #expect(Self.blocks(controller) == 12)
        // 11 × 9 pixels.
        #expect(await eventually { await Self.blocks(controller) == 5 })
        withExtendedLifetime(script) {}
    }

    @Test(arguments: [
        "", #""w":-1,"h":0"#, #""w":1000000000000,"h":1,"#.dropLast().description, #""xyz.amorgan.blurhash":"LEHV""#,
    ])
    func whatLiesOrCannotBeReadIsALineWithItsName(info: String) async throws {
        let done = Flag()
        let (controller, script) = try Self.room(info) { _ in
            done.isSet = true
            return Data("no image".utf8)
        }
        _ = Self.blocks(controller)
        #expect(await eventually { await done.isSet })
        #expect(Self.blocks(controller) == 0)
        #expect(controller.draw(columns: 80, rows: 24).text.contains { $0.contains("[image] plan.png") })
        withExtendedLifetime(script) {}
    }

    @Test func nothingIsFetchedWhereImagesAreOffOrThereAreNoColours() throws {
        let (controller, script) = try Self.room(Self.blur) { _ in
            Issue.record("fetched")
            return Data()
        }
        controller.layoutOptions.showsImages = false
        #expect(Self.blocks(controller) == 0)
        controller.layoutOptions.showsImages = true
        controller.theme = .plain
        #expect(Self.blocks(controller) == 0)
        withExtendedLifetime(script) {}
    }
}

@MainActor
private final class Flag {
    var isSet = false
}
