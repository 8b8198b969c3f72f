import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// Failures in the middle of `pydio mv`, `cp` and `rm`. PydioCommandTests covers their other behaviour.
@Suite(.overSockets)
struct PydioRelocationTests {
    /// Returns a scene with `/a` and `/d/b`, which contain their own names.
    private func scene() async throws -> PydioScene {
        let scene = try await PydioScene()
        for name in ["/a", "/d/b"] { try scene.server.addFile(name, Array(name.utf8)) }
        return scene
    }

    /// Returns the paths outside the bin.
    private func paths(_ scene: PydioScene) -> [String] {
        scene.server.paths().filter { !$0.hasPrefix("/recycle_bin") }
    }

    // MARK: --force

    @Test(arguments: ["mv", "cp"])
    func whatIsToBeReplacedComesBack_ifNothingReplacesIt(command: String) async throws {
        let scene = try await scene()
        // The old node is set aside, and the new one fails to get its name.
        scene.server.inject(.errorDocument("No such name"), into: "rename", after: 1)
        let (status, run) = try await scene.pydio(command, "plans:/a", "plans:/d/b", "--force")
        #expect(status == 65)
        #expect(run.errors == ["error: plans:/a: the server says: No such name"])
        #expect(paths(scene) == ["/a", "/d", "/d/b"])
        #expect(scene.remoteText("/d/b") == "/d/b")
        try scene.server.addFile("/d/e/a", Array("theirs".utf8))
        scene.server.inject(.errorDocument("No space left"), into: command == "mv" ? "move" : "copy")
        let full = try await scene.pydio(command, "plans:/a", "plans:/d/e", "--force")
        #expect(full.status == 65)
        #expect(full.run.errors == ["error: plans:/a: the server says: No space left"])
        #expect(paths(scene) == ["/a", "/d", "/d/b", "/d/e", "/d/e/a"])
        #expect(scene.remoteText("/d/e/a") == "theirs")
    }

    @Test func whatCannotBePutBackIsNamed() async throws {
        let scene = try await scene()
        scene.server.inject(.errorDocument("No such name"), into: "rename", times: nil, after: 1)
        let (status, run) = try await scene.pydio("mv", "plans:/a", "plans:/d/b", "--force")
        #expect(status == 69)
        let aside = try #require(paths(scene).last)
        #expect(aside.hasPrefix("/d/old-") && aside.hasSuffix("-b"))
        #expect(run.errors.first?.hasPrefix("error: what was plans:/d/b may now be plans:\(aside): ") == true)
        #expect(scene.remoteText(aside) == "/d/b")
    }

    @Test func whatIsReplacedIsNotLeftBeside_andToldIfItIs() async throws {
        let scene = try await scene()
        #expect(try await scene.pydio("cp", "plans:/a", "plans:/d/b", "--force").status == 0)
        #expect(paths(scene) == ["/a", "/d", "/d/b"])
        scene.server.inject(.errorDocument("Not now"), into: "delete")
        let (status, run) = try await scene.pydio("mv", "plans:/a", "plans:/d/b", "--force")
        #expect(status == 69)
        #expect(scene.remoteText("/d/b") == "/a")
        let aside = try #require(paths(scene).last)
        #expect(run.errors.first?.hasPrefix("error: what was plans:/d/b is still there as plans:\(aside): ") == true)
    }

    @Test func whoeverInterruptsGetsBackWhatWasToBeReplaced() async throws {
        let scene = try await scene()
        scene.server.inject(.silence, into: "rename", after: 1)
        let run = try scene.run(["pydio", "mv", "plans:/a", "plans:/d/b", "--force"])
        #expect(await eventually { scene.server.count("rename") == 2 })
        #expect(!scene.server.exists("/d/b"))
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(paths(scene) == ["/a", "/d", "/d/b"])
        #expect(scene.remoteText("/d/b") == "/d/b")
    }

    // MARK: Names

    @Test(arguments: [
        #"<tree ><message type="SUCCESS">Copied</message></tree>"#,
        #"<tree ><message type="SUCCESS">Copied</message><nodes_diff><add>"#
            + #"<tree is_file="true" filename="/a" text="a"/></add></nodes_diff></tree>"#,
    ])
    func anOriginalIsNeverTakenForItsCopy(answer: String) async throws {
        let scene = try await scene()
        scene.server.setGate { $0.action == "copy" ? .xml(answer) : nil }
        let (status, run) = try await scene.pydio("cp", "plans:/a", "plans:/b")
        #expect(status == 65)
        #expect(run.errors == ["error: plans:/a: the server says: Cannot find file!"])
        #expect(paths(scene) == ["/a", "/d", "/d/b"])
    }

    @Test(arguments: [
        ["mv", "--force", "plans:/a/x", "plans:/b/x", "plans:/d/"],
        ["cp", "--force", "plans:/a/x", "plans:/a/x", "plans:/d"],
        ["put", "--force", "x/a", "y/a", "plans:/d/"],
        ["put", "-r", "x/a/", "y/a", "plans:/d/"],
    ])
    func twoOfOneNameAreRefusedBeforeAnythingIsDone(arguments: [String]) async throws {
        let run = try CommandRun(["pydio"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.words.contains("two sources with the same name cannot go into one folder"))
    }

    @Test(arguments: [["plans:/d", "plans:/d/b"], ["plans:/d/b", "plans:/d"]])
    func whatIsInAFolderGoesWithIt(arguments: [String]) async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "rm", "--recursive", "--json"] + arguments)
        #expect(await run.status() == 0)
        #expect(run.objects.map { $0["path"] as? String } == ["/d"])
        #expect(scene.server.requests("delete").count == 1)
        #expect(paths(scene) == ["/a"])
    }
}
