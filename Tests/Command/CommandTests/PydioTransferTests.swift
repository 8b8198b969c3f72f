import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// `pydio get` and `put`. PydioCommandTests covers names.
@Suite(.overSockets)
struct PydioTransferTests {
    // MARK: get

    @Test func aFileComesWhereItIsWanted() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/docs/plan.txt", Array("hello\n".utf8))
        let (status, run) = try await scene.pydio("get", "plans:/docs/plan.txt", scene.files.path)
        #expect(status == 0)
        #expect(run.output == [scene.local("plan.txt").path])
        let named = try await scene.pydio("get", "plans:/docs/plan.txt", scene.local("mine").path, "--json")
        #expect(named.status == 0)
        let object = try #require(named.run.objects.first)
        #expect(object["type"] as? String == "downloaded")
        #expect(object["path"] as? String == "/docs/plan.txt")
        #expect(object["file"] as? String == scene.local("mine").path)
        #expect(object["size"] as? Int == 6)
        #expect(try await scene.pydio("get", "plans:/docs/plan.txt", "-").run.output == ["hello"])
        #expect(scene.localPaths == ["mine", "plan.txt"])
        #expect(scene.text(of: "mine") == "hello\n")
        #expect(try await scene.pydio("get", "plans:/none", scene.files.path).status == 65)
        #expect(try await scene.pydio("get", "plans:/docs/plan.txt", scene.local("no/where").path).status == 65)
    }

    @Test func noFileIsReplacedWithoutForce() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", Array("new".utf8))
        try scene.write("old", to: "a")
        let (status, run) = try await scene.pydio("get", "plans:/a", scene.files.path)
        #expect(status == 65)
        #expect(run.errors == ["error: \(scene.local("a").path) already exists: --force replaces it"])
        #expect(scene.text(of: "a") == "old")
        #expect(try await scene.pydio("get", "plans:/a", scene.local("a").path, "--force").status == 0)
        #expect(scene.text(of: "a") == "new")
    }

    @Test func aFolderComesWithEverything_butForTheBin() async throws {
        let scene = try await PydioScene()
        for name in ["a", "d/b", "d/e/c", "recycle_bin/old"] { try scene.server.addFile("/\(name)", Array(name.utf8)) }
        scene.server.addFolder("/empty")
        let refused = try await scene.pydio("get", "plans:/d", scene.files.path)
        #expect(refused.status == 65)
        #expect(refused.run.errors == ["error: plans:/d is a folder: --recursive downloads what is in it"])
        // Goes into an existing folder under its own name; otherwise it becomes the folder.
        #expect(try await scene.pydio("get", "plans:", scene.files.path, "--recursive").status == 0)
        #expect(try await scene.pydio("get", "plans:/d", scene.local("new").path, "--recursive").status == 0)
        #expect(
            scene.localPaths == [
                "new", "new/b", "new/e", "new/e/c", "plans", "plans/a", "plans/d", "plans/d/b", "plans/d/e",
                "plans/d/e/c", "plans/empty",
            ])
        #expect(scene.text(of: "plans/d/e/c") == "d/e/c")
    }

    @Test func whatIsThereAlreadyIsTold_andTheRestComes() async throws {
        let scene = try await PydioScene()
        for name in ["d/a", "d/b", "d/c/x"] { try scene.server.addFile("/\(name)", Array("new".utf8)) }
        try scene.write("old", to: "d/a")
        try scene.write("old", to: "d/c")
        let (status, run) = try await scene.pydio("get", "plans:/d", scene.files.path, "-r")
        #expect(status == 65)
        #expect(run.errors.count == 2)
        #expect(run.errors.contains { $0.contains("/d/a already exists") })
        #expect(run.errors.contains { $0.contains("/d/c exists and is not a folder") })
        #expect(scene.text(of: "d/a") == "old" && scene.text(of: "d/b") == "new")
    }

    @Test func nothingIsWrittenThroughALinkInTheFolder() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/d/link/x", Array("new".utf8))
        try scene.write("", to: "d/y")
        let outside = scene.home.appending(path: "outside")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: scene.local("d/link"), withDestinationURL: outside)
        #expect(try await scene.pydio("get", "plans:/d", scene.files.path, "-r", "--force").status == 65)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == [])
    }

    /// The entries that a malicious server lists in `/d`.
    @Test(arguments: [
        "/d/../../../escaped", "/escaped", "/d/..", "/d/.", "/d/", "/d", "/d/a/b", "../escaped", "/d/../\u{301}escaped",
        "/d/x/\u{301}escaped", "escaped", "/dd",
    ])
    func whatIsListedWhereItCannotBeIsRefused(path: String) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/d/a", Array("a".utf8))
        scene.server.setGate { request in
            guard request.action == "ls" else { return nil }
            let escaped = path.replacing("&", with: "&amp;")
            return .xml(
                #"<tree is_file="false" filename="/d" text="d"><tree is_file="true" filename="\#(escaped)" text="x"/>"#
                    + #"<tree is_file="false" filename="\#(escaped)" text="y"/></tree>"#)
        }
        let (status, run) = try await scene.pydio("get", "plans:/d", scene.local("got").path, "-r")
        #expect(status == 69)
        #expect(run.errors.first?.contains("where it cannot be") == true)
        #expect(scene.localPaths == ["got"])
        #expect(!FileManager.default.fileExists(atPath: scene.home.appending(path: "escaped").path))
    }

    @Test func aDownloadThatBrokeOffGoesOn() async throws {
        let scene = try await PydioScene()
        let content = String(repeating: "0123456789abcdef", count: 20_000)
        try scene.server.addFile("/large", Array(content.utf8))
        // Until nothing arrives anymore; then it gives up.
        scene.server.inject(.cut(after: 100_000), into: "download")
        scene.server.inject(.drop, into: "download", times: nil)
        let broken = try await scene.pydio("get", "plans:/large", scene.files.path)
        #expect(broken.status == 69)
        #expect(scene.localPaths.count == 1)
        #expect(scene.localPaths.first?.hasPrefix(".large.") == true)
        scene.server.clearFaults()
        scene.server.forgetRequests()
        #expect(try await scene.pydio("get", "plans:/large", scene.files.path).status == 0)
        #expect(scene.localPaths == ["large"])
        #expect(scene.text(of: "large") == content)
        #expect(scene.server.requests("download").first?.field("Range") == "bytes=100000-")
    }

    @Test(arguments: [
        ["get", "plans:/large"], ["get", "plans:/large", "--json"], ["get", "plans:/large", "--force"],
    ])
    func aDownloadThatBreaksOffIsNoFile_andReplacesNone(arguments: [String]) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/large", size: 300_000)
        let target = scene.local("mine")
        let isReplacing = arguments.contains("--force")
        if isReplacing { try Data("before".utf8).write(to: target) }
        scene.server.inject(.cut(after: 100_000), into: "download")
        scene.server.inject(.drop, into: "download", times: nil)
        let run = try scene.run(["pydio"] + arguments + [target.path])
        #expect(await run.status() == 69)
        #expect(run.output == [])
        #expect(run.errors.count == 1 && run.errors.first?.hasPrefix("error: ") == true, "\(run.errors)")
        #expect(FileManager.default.fileExists(atPath: target.path) == isReplacing)
        if isReplacing { #expect(scene.text(of: "mine") == "before") }
        // The received part is kept for resuming.
        #expect(scene.localPaths.filter { $0.hasPrefix(".large.") }.count == 1)
    }

    @Test(arguments: [["cat", "plans:/a", "plans:/large"], ["get", "plans:/large", "-"]])
    func nothingIsPrintedOfAFileThatBreaksOff(arguments: [String]) async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", Array("whole\n".utf8))
        try scene.server.addFile("/large", size: 300_000)
        // The first download is the small file's, if requested.
        if arguments.contains("plans:/a") { scene.server.inject(.cut(after: 100_000), into: "download") }
        scene.server.inject(.cut(after: 100_000), into: "download")
        scene.server.inject(.drop, into: "download", times: nil)
        let temporary = scene.local("temporary")
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        let run = try CommandRun(
            ["pydio"] + arguments, environment: scene.environment.merging(["TMPDIR": temporary.path]) { $1 })
        #expect(await run.status() == 69)
        #expect(run.outputText == (arguments.contains("plans:/a") ? "whole\n" : ""))
        #expect(run.errors.count == 1 && run.errors.first?.hasPrefix("error: ") == true, "\(run.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
    }

    @Test func anInterruptedDownloadIsStatus130_andKeepsItsPart() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/large", size: 300_000)
        scene.server.inject(.cut(after: 100_000), into: "download")
        scene.server.inject(.silence, into: "download", times: nil)
        let run = try scene.run(["pydio", "get", "plans:/large", scene.files.path])
        #expect(await eventually { scene.server.count("download") == 2 })
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(run.errors == ["error: interrupted before it was done"])
        #expect(scene.localPaths.count == 1)
        scene.server.clearFaults()
        #expect(try await scene.pydio("get", "plans:/large", scene.files.path).status == 0)
        #expect(scene.localPaths == ["large"])
    }

    @Test func aPageInPlaceOfADownloadIsNoFile() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", Array("a".utf8))
        for fault in [FakePydioServer.Fault.scriptError, .htmlPage(), .emptyBody] {
            scene.server.inject(fault, into: "download")
            let (status, run) = try await scene.pydio("get", "plans:/a", scene.files.path)
            #expect(status != 0)
            #expect(run.errors.count == 1)
            #expect(scene.localPaths == [])
        }
        scene.server.inject(.scriptError, into: "download")
        #expect(try await scene.pydio("get", "plans:/a", "-").run.output == [])
    }

    @Test func progressIsShownAtATerminal_andNowhereElse() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/large", size: 3_000_000)
        let run = try CommandRun(
            ["pydio", "get", "plans:/large", scene.files.path], environment: scene.environment, isAtTerminal: true)
        #expect(await run.status() == 0)
        #expect(run.words.contains("large  [####################]  100 %"))
        let quiet = try await scene.pydio("get", "plans:/large", scene.local("again").path)
        #expect(quiet.run.errors == [])
        #expect(quiet.run.output == [scene.local("again").path])
    }

    // MARK: put

    @Test func filesGoWhereTheyAreWanted() async throws {
        let scene = try await PydioScene()
        scene.server.addFolder("/docs")
        try scene.write("one", to: "1.txt")
        try scene.write("two", to: "2.txt")
        let (status, run) = try await scene.pydio(
            "put", scene.local("1.txt").path, scene.local("2.txt").path, "plans:/docs", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["type"] as? String } == ["uploaded", "uploaded"])
        #expect(run.objects.map { $0["path"] as? String } == ["/docs/1.txt", "/docs/2.txt"])
        #expect(run.objects.map { $0["size"] as? Int } == [3, 3])
        #expect(run.objects.first?["file"] as? String == scene.local("1.txt").path)
        let named = try await scene.pydio("put", scene.local("1.txt").path, "plans:/new.txt")
        #expect(named.run.output == ["plans:/new.txt"])
        #expect(try await scene.pydio("put", "-", "plans:/docs/in.txt", input: "piped").status == 0)
        #expect(scene.remoteText("/docs/in.txt") == "piped")
        #expect(try await scene.pydio("put", scene.local("1.txt").path, "plans:/none/").status == 65)
        #expect(try await scene.pydio("put", scene.local("none").path, "plans:/docs").status == 65)
        #expect(scene.server.paths() == ["/docs", "/docs/1.txt", "/docs/2.txt", "/docs/in.txt", "/new.txt"])
    }

    @Test func noFileThereIsReplacedWithoutForce() async throws {
        let scene = try await PydioScene()
        try scene.server.addFile("/a", Array("old".utf8))
        let file = try scene.write("new", to: "a")
        for arguments in [[file.path, "plans:"], [file.path, "plans:/a"], ["-", "plans:/a"]] {
            let run = try scene.run(["pydio", "put"] + arguments)
            #expect(await run.status() == 65)
            #expect(run.errors == ["error: plans:/a already exists: --force replaces it"])
        }
        #expect(scene.server.count("upload") == 0)
        #expect(try await scene.pydio("put", file.path, "plans:/a", "--force").status == 0)
        #expect(scene.remoteText("/a") == "new")
    }

    @Test func whatComesThereMeanwhileIsNotReplacedEither() async throws {
        let scene = try await PydioScene()
        scene.server.setGate { request in
            // The file appears after the command's first check.
            guard request.action == "stat", scene.server.count("stat") > 1 else { return nil }
            try? scene.server.addFile("/in.txt", Array("theirs".utf8))
            return nil
        }
        let piped = try await scene.pydio("put", "-", "plans:/in.txt", input: "mine")
        #expect(piped.status == 65)
        #expect(scene.remoteText("/in.txt") == "theirs")
        try scene.write("mine", to: "d/a")
        scene.server.setGate { request in
            guard request.action == "stat", scene.server.exists("/d") else { return nil }
            try? scene.server.addFile("/d/a", Array("theirs".utf8))
            return nil
        }
        #expect(try await scene.pydio("put", "-r", scene.local("d").path, "plans:").status == 65)
        #expect(scene.remoteText("/d/a") == "theirs")
    }

    @Test func foldersGoWithEverything_butForLinks() async throws {
        let scene = try await PydioScene()
        for name in ["d/a", "d/e/b"] { try scene.write(name, to: name) }
        try FileManager.default.createDirectory(at: scene.local("d/empty"), withIntermediateDirectories: true)
        let refused = try await scene.pydio("put", scene.local("d").path, "plans:")
        #expect(refused.status == 65)
        #expect(refused.run.errors.first?.hasSuffix("d is a folder: --recursive uploads what is in it") == true)
        #expect(try await scene.pydio("put", "-r", scene.local("d").path, "plans:").status == 0)
        let all = ["/d", "/d/a", "/d/e", "/d/e/b", "/d/empty"]
        #expect(scene.server.paths() == all)
        try scene.write("outside", to: "o/x")
        for (name, target) in ["file": "d/a", "folder": "o", "loop": "d", "nothing": "none"] {
            try FileManager.default.createSymbolicLink(
                at: scene.local("d/\(name)"), withDestinationURL: scene.local(target))
        }
        let again = try await scene.pydio("put", "-r", scene.local("d").path, "plans:", "--force")
        #expect(again.status == 65)
        #expect(again.run.errors.count == 4)
        let words = "d/loop is a symbolic link: it is left out; --dereference follows it"
        #expect(again.run.errors.contains { $0.hasSuffix(words) })
        #expect(scene.server.paths() == all)
    }

    @Test func linksAreFollowedIfAskedFor_butNotRound() async throws {
        let scene = try await PydioScene()
        try scene.write("d/a", to: "d/a")
        try scene.write("outside", to: "o/x")
        for (name, target) in ["file": "d/a", "folder": "o", "loop": "d", "nothing": "none"] {
            try FileManager.default.createSymbolicLink(
                at: scene.local("d/\(name)"), withDestinationURL: scene.local(target))
        }
        let (status, run) = try await scene.pydio("put", "-r", "-L", scene.local("d").path, "plans:")
        #expect(status == 65)
        #expect(run.errors.count == 2)
        #expect(run.errors.contains { $0.contains("d/loop leads back to a folder that it is in: it is left out") })
        #expect(run.errors.contains { $0.contains("d/nothing is neither a file nor a folder") })
        #expect(scene.server.paths() == ["/d", "/d/a", "/d/file", "/d/folder", "/d/folder/x"])
        #expect(scene.remoteText("/d/file") == "d/a" && scene.remoteText("/d/folder/x") == "outside")
    }

    @Test func errorsOfUploadsAreToldWithTheirNumber() async throws {
        let scene = try await PydioScene(
            .init(workspaces: [FakePydioWorkspace(id: "0", slug: "plans", label: "Plans", quota: 5)]))
        let file = try scene.write("0123456789", to: "a")
        let (status, run) = try await scene.pydio("put", file.path, "plans:")
        #expect(status == 65)
        #expect(run.words.contains("(507)"))
        #expect(scene.server.paths() == [])
    }

    @Test func anInterruptedUploadIsStatus130() async throws {
        let scene = try await PydioScene()
        let file = try scene.write("0123456789", to: "a")
        scene.server.inject(.silence, into: "upload")
        let run = try scene.run(["pydio", "put", file.path, "plans:"])
        #expect(await eventually { scene.server.count("upload") == 1 })
        run.interrupt()
        #expect(await run.status() == 130)
        #expect(run.output == [])
    }
}
