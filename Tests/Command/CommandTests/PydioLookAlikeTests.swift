import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// Names that look alike, or whose first character joins with the preceding slash, are distinguished by their bytes.
@Suite(.overSockets)
struct PydioLookAlikeTests {
    private static let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")

    /// Returns the paths outside the bin.
    private func paths(_ scene: PydioScene) -> [[UInt8]] {
        scene.server.paths().filter { !$0.hasPrefix("/recycle_bin") }.map { Array($0.utf8) }
    }

    private func bytes(_ paths: String...) -> [[UInt8]] { paths.map { Array($0.utf8) } }

    @Test func bothAreDeleted() async throws {
        let scene = try await PydioScene()
        for name in [Self.composed, Self.decomposed] { try scene.server.addFile("/s/\(name)", []) }
        let (status, _) = try await scene.pydio(
            "rm", "plans:/s/\(Self.composed)", "plans:/s/\(Self.decomposed)")
        #expect(status == 0)
        #expect(paths(scene) == bytes("/s"))
    }

    @Test func aFileGoesIntoTheOtherFolder() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/\(Self.composed)/x", [])
        scene.server.addFolder("/\(Self.decomposed)")
        let (status, run) = try await scene.pydio("mv", "plans:/\(Self.composed)/x", "plans:/\(Self.decomposed)/y")
        #expect(status == 0, "\(run.errors)")
        #expect(
            Set(paths(scene))
                == Set(bytes("/\(Self.composed)", "/\(Self.decomposed)", "/\(Self.decomposed)/y")))
    }

    @Test func aFileGetsTheOtherName() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/\(Self.composed)", [])
        #expect(try await scene.pydio("mv", "plans:/\(Self.composed)", "plans:/\(Self.decomposed)").status == 0)
        #expect(paths(scene) == bytes("/\(Self.decomposed)"))
    }

    @Test func bothArePut() async throws {
        let scene = try await PydioScene()
        for name in [Self.composed, Self.decomposed] { try scene.write("x", to: "up/\(name)") }
        let (status, run) = try await scene.pydio("put", "-r", scene.local("up").path, "plans:/")
        #expect(status == 0, "\(run.errors)")
        #expect(Set(paths(scene)) == Set(bytes("/up", "/up/\(Self.composed)", "/up/\(Self.decomposed)")))
    }

    @Test func aNameThatBeginsWithAnAccentStaysInItsFolder() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/v/acc\u{301}n", Array("theirs".utf8))
        try scene.write("ours", to: "acc/\u{301}n")
        let (status, run) = try await scene.pydio("put", "-r", "--force", scene.local("acc").path, "plans:/v/")
        #expect(status == 0, "\(run.errors)")
        #expect(Set(paths(scene)) == Set(bytes("/v", "/v/acc", "/v/acc/\u{301}n", "/v/acc\u{301}n")))
        #expect(scene.remoteText("/v/acc\u{301}n") == "theirs")
    }
}
