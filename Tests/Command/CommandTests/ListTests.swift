import Foundation
import MatrixTestSupport
import TerminalUI
import TestSupport
import Testing

@testable import CommandKit

/// Lists at terminals and in pipes.
@Suite(.overSockets)
struct ListTests {
    private static let longName = "A phone with a name that is longer than the terminal is wide"

    private func sceneWithDevices() async throws -> MatrixScene {
        let scene = try await MatrixScene()
        scene.server.on(
            "GET", "v3/devices",
            .json(
                #"""
                {"devices":[{"device_id":"DEVICE","display_name":"日本語の電話","last_seen_ip":"192.0.2.1"},
                {"device_id":"A","display_name":"👩‍👩‍👧‍👦 한국어","last_seen_ip":"192.0.2.22"},{"device_id":"B"},
                {"device_id":"C","display_name":"\#(Self.longName)"}]}
                """#))
        return scene
    }

    private func lines(_ scene: MatrixScene, columns: Int) async throws -> [String] {
        let run = try TerminalRun(
            nil, ["matrix", "devices", "--color", "never"], environment: ["XDG_CONFIG_HOME": scene.home.path],
            columns: columns)
        #expect(await run.status() == 0)
        #expect(await run.shows { $0.lines.count == 5 }, "\(run.screen.lines)")
        return run.screen.lines.dropLast()
    }

    @Test func onATerminalColumnsLineUp_andLongCellsAreShortened() async throws {
        let scene = try await sceneWithDevices()
        let lines = try await lines(scene, columns: 50)
        #expect(
            lines == [
                "日本語の電話       DEVICE  192.0.2.1   this device",
                "👩‍👩‍👧‍👦 한국어          A       192.0.2.22",
                "                   B",
                "A phone with a n…  C",
            ])
        #expect(lines.allSatisfy { WidthProfile.unicode.width(of: $0) <= 50 })
    }

    @Test func onAWideTerminalNothingIsShortened() async throws {
        let scene = try await sceneWithDevices()
        let lines = try await lines(scene, columns: 200)
        #expect(lines.last == Self.longName + "  C")
        #expect(lines.first?.hasPrefix("日本語の電話" + String(repeating: " ", count: 50) + "DEVICE  192.0.2.1 ") == true)
    }

    @Test func onATerminalAnEmptyListIsSaid() async throws {
        let run = try TerminalRun(
            nil, ["context", "list"], environment: ["XDG_CONFIG_HOME": NSTemporaryDirectory() + UUID().uuidString])
        #expect(await run.status() == 0)
        #expect(await run.shows { $0.lines.contains("there are no contexts: create one with pusher-cli context add") })
    }

    @Test func inAPipeALineHasAllOfItsRecord_twoSpacesApart() async throws {
        let scene = try await sceneWithDevices()
        let (status, run) = try await scene.matrix("devices")
        #expect(status == 0)
        #expect(
            run.output == [
                "日本語の電話  DEVICE  192.0.2.1  this device", "👩‍👩‍👧‍👦 한국어  A  192.0.2.22", "B", Self.longName + "  C",
            ])
    }
}
