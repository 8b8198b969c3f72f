import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// `pydio sync`.
@Suite(.overSockets)
struct PydioSyncTests {
    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func bothFoldersBecomeTheSame(mode: FakePydioMode) async throws {
        let scene = try await PydioScene(.init(mode: mode))
        try scene.server.addFile("/docs/there.txt", Array("there".utf8))
        try scene.write("here", to: "sub/here.txt")
        let planned = try await scene.pydio("sync", scene.files.path, "plans:/docs", "--dry-run")
        #expect(planned.status == 0)
        #expect(
            planned.run.output == ["create folder there: sub", "upload: sub/here.txt", "download: there.txt"])
        #expect(scene.localPaths == ["sub", "sub/here.txt"] && scene.remoteText("/docs/sub/here.txt") == nil)
        let (status, run) = try await scene.pydio("sync", scene.files.path, "plans:/docs")
        #expect(status == 0 && run.errors == [])
        #expect(
            run.output == ["created folder there: sub", "uploaded: sub/here.txt", "downloaded: there.txt"])
        #expect(scene.text(of: "there.txt") == "there" && scene.remoteText("/docs/sub/here.txt") == "here")
        let again = try await scene.pydio("sync", scene.files.path, "plans:/docs")
        #expect(again.status == 0 && again.run.output == [])
    }

    @Test func inJSONEachStepIsAnObject() async throws {
        let scene = try await PydioScene()
        try scene.write("here", to: "a")
        let planned = try await scene.pydio("sync", scene.files.path, "plans:", "--dry-run", "--json")
        #expect(planned.run.objects.map { $0["type"] as? String } == ["planned"])
        try scene.server.addFile("/b", Array("one".utf8))
        try scene.write("two!", to: "b")
        let (status, run) = try await scene.pydio("sync", scene.files.path, "plans:", "--json")
        #expect(status == 0)
        let objects = run.objects
        #expect(objects.allSatisfy { $0["type"] as? String == "done" && $0["time"] != nil })
        #expect(objects.map { $0["step"] as? String } == ["upload", "keep_both", "download", "upload"])
        #expect(objects.first?["path"] as? String == "a" && objects.first?["size"] as? Int == 4)
        #expect((objects.dropFirst().first?["new_path"] as? String)?.hasPrefix("b (conflict ") == true)
    }

    @Test func whatIsLeftOutIsTold_andTheStatusSaysSo() async throws {
        let scene = try await PydioScene()
        try scene.write("x", to: "pl|an")
        try scene.write("x", to: ".hidden")
        try scene.write("x", to: "good")
        let (status, run) = try await scene.pydio("sync", scene.files.path, "plans:")
        #expect(status == 65)
        #expect(run.output == ["uploaded: good"])
        #expect(run.errors.count == 2)
        #expect(run.errors.first?.hasPrefix("error: .hidden: servers refuse names that begin with a dot") == true)
        #expect(run.errors.last?.hasPrefix("error: pl|an: servers change this name") == true)
    }

    @Test func everythingGoneStopsTheSync() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", Array("a".utf8))
        #expect(try await scene.pydio("sync", scene.files.path, "plans:").status == 0)
        try FileManager.default.removeItem(at: scene.local("a"))
        let (status, run) = try await scene.pydio("sync", scene.files.path, "plans:")
        #expect(status == 65 && run.output == [] && scene.remoteText("/a") == "a")
        #expect(run.errors.count == 1 && run.errors.first?.contains("--allow-empty") == true)
        let allowed = try await scene.pydio("sync", scene.files.path, "plans:", "--allow-empty")
        #expect(allowed.status == 0 && allowed.run.output == ["deleted there: a"])
        #expect(scene.remoteText("/a") == nil)
    }

    @Test func oneWayChangesOneSide() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/there", Array("there".utf8))
        try scene.write("here", to: "here")
        #expect(try await scene.pydio("sync", "--up", scene.files.path, "plans:").run.output == ["uploaded: here"])
        #expect(scene.text(of: "there") == nil)
        #expect(
            try await scene.pydio("sync", "--down", scene.files.path, "plans:").run.output == ["downloaded: there"])
    }

    @Test func wrongUseIsToldBeforeAnythingIsDone() async throws {
        let scene = try await PydioScene()
        let files = scene.files.path
        for arguments in [
            [files, "plans:", "--up", "--down"], [files, "plans:", "--dry-run", "--watch"], [files], ["", "plans:"],
            [files, "plans"],
        ] {
            let run = try scene.run(["pydio", "sync"] + arguments)
            #expect(await run.status() == 64, "\(arguments)")
        }
        let none = try await scene.pydio("sync", scene.local("none").path, "plans:")
        #expect(none.status == 65 && none.run.errors.first?.contains("there is no folder") == true)
        #expect(try await scene.pydio("sync", files, "nowhere:").status == 65)
        #expect(try await scene.pydio("sync", files, "plans:/none").status == 65)
        #expect(scene.localPaths == [])
    }

    @Test func aServerThatIsNotThereIsUnavailable_andALoginThatIsRefusedIsThat() async throws {
        let scene = try await PydioScene()
        scene.server.inject(.status(503), into: "ls")
        #expect(try await scene.pydio("sync", scene.files.path, "plans:").status == 69)
        try scene.logIn(password: "wrong")
        scene.server.expireSessions()
        #expect(try await scene.pydio("sync", scene.files.path, "plans:").status == 77)
    }

    @Test func anInterruptedSyncEndsWithStatus130_andTheNextOneContinues() async throws {
        let scene = try await PydioScene()
        try scene.write("a", to: "a")
        scene.server.inject(.silence, into: "upload")
        let run = try scene.run(["pydio", "sync", scene.files.path, "plans:"])
        #expect(await eventually { scene.server.count("upload") == 1 })
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(try await scene.pydio("sync", scene.files.path, "plans:").status == 0)
        #expect(scene.server.paths() == ["/a"])
    }

    @Test func aWatchGoesOn_andEndsWellWhenItIsStopped() async throws {
        let scene = try await PydioScene()
        let run = try scene.run(["pydio", "sync", scene.files.path, "plans:", "--watch", "--poll-interval", "2"])
        try scene.write("first", to: "a")
        #expect(await run.waitFor { $0.contains("uploaded: a") })
        scene.server.advanceClock(by: .seconds(1))
        scene.server.act("mkfile", ["dir": "/", "filename": "b", "content": "there"], as: "ada")
        #expect(await run.waitFor { $0.contains("downloaded: b") })
        // It checks its own changes once more, and waits after that.
        let count = scene.server.count("changes")
        #expect(await eventually { scene.server.count("changes") > count })
        run.interrupt()
        let status = await run.status()
        #expect(status == 0 || status == 130)
        #expect(scene.text(of: "b") == "there")
    }

    @Test func aSecondSyncOfAFolderIsToldWhoHasIt() async throws {
        let scene = try await PydioScene()
        try scene.write("a", to: "a")
        scene.server.inject(.hold, into: "upload")
        let first = try scene.run(["pydio", "sync", scene.files.path, "plans:"])
        #expect(await eventually { scene.server.heldCount == 1 })
        let second = try await scene.pydio("sync", scene.files.path, "plans:")
        #expect(second.status == 65)
        #expect(second.run.errors.first?.contains("is being synced by process ") == true)
        scene.server.release()
        #expect(await first.status() == 0)
    }

    @Test func namesOfTheServerDoNotDriveTheTerminal() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a\u{7F}b\u{202E}c", Array("x".utf8))
        let (status, run) = try await scene.pydio("sync", scene.files.path, "plans:")
        #expect(status == 0 && run.output.count == 1)
        #expect(run.output.first == "downloaded: a\\u{7F}b\u{202E}c")
    }
}
