import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit

/// The `pydio` commands where real servers differ from their documentation.
@Suite(.overSockets)
struct PydioRealServerTests {
    private func scene(_ mode: FakePydioMode = .v5_2) async throws -> PydioScene {
        try await PydioScene(FakePydioServer.Configuration(mode: mode))
    }

    /// Returns the paths outside the bin.
    private func paths(_ scene: PydioScene) -> [String] {
        scene.server.paths().filter { !$0.hasPrefix("/recycle_bin") }
    }

    // MARK: Names

    @Test(arguments: FakePydioMode.allCases)
    func putReplacesNothingWhoseNameItsOwnBecomes(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        try scene.server.addFile("/ow/plan.txt", Array("theirs".utf8))
        let file = try scene.write("mine", to: "pl\"an.txt").path
        let refused = try await scene.pydio("put", file, "plans:/ow/")
        #expect(refused.status == 65)
        #expect(refused.run.errors == ["error: plans:/ow/plan.txt already exists: --force replaces it"])
        #expect(scene.remoteText("/ow/plan.txt") == "theirs")
        let forced = try await scene.pydio("put", file, "plans:/ow/", "--force", "--json")
        #expect(forced.status == 0)
        #expect(forced.run.objects.map { $0["path"] as? String } == ["/ow/plan.txt"])
        #expect(scene.remoteText("/ow/plan.txt") == "mine")
        let new = try await scene.pydio("put", file, "plans:/n|ew.txt")
        #expect(new.status == 0)
        #expect(new.run.output == ["plans:/new.txt"])
        #expect(new.run.errors == ["warning: the server calls plans:/n|ew.txt plans:/new.txt"])
    }

    @Test(arguments: [[], ["--force"]])
    func twoSourcesNeverBecomeOneFile(options: [String]) async throws {
        let scene = try await scene()
        for name in ["d/a?b.txt", "d/ab.txt", "d/x|y/one", "d/xy/two"] { try scene.write(name, to: name) }
        let run = try scene.run(["pydio", "put", "-r", scene.local("d").path, "plans:"] + options)
        #expect(await run.status() == 65)
        #expect(
            paths(scene) == ["/d", "/d/ab.txt", "/d/xy", "/d/xy/two"]
                || paths(scene) == ["/d", "/d/ab.txt", "/d/xy", "/d/xy/one"])
        let errors = run.errors.filter { $0.hasPrefix("error: ") }
        #expect(errors.count == 2, "\(run.errors)")
        for (first, second) in [("a?b.txt", "ab.txt"), ("x|y", "xy")] {
            #expect(errors.contains { $0.contains("/d/\(second)") && $0.contains("/d/\(first)") }, "\(errors)")
        }
        #expect(scene.remoteText("/d/ab.txt") == "d/a?b.txt")
    }

    @Test func foldersHaveTheNameThatTheServerMade() async throws {
        let scene = try await scene()
        let (status, run) = try await scene.pydio("mkdir", "plans:/d\"q", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["path"] as? String } == ["/dq"])
        #expect(run.errors == ["warning: the server calls plans:/d\"q plans:/dq"])
        let deep = try await scene.pydio("mkdir", "-p", "plans:/d\"q/a|b/c?", "--json")
        #expect(deep.status == 0)
        #expect(deep.run.objects.map { $0["path"] as? String } == ["/dq/ab", "/dq/ab/c"])
        #expect(try await scene.pydio("mkdir", "-p", "plans:/d\"q/a|b").status == 0)
        #expect(paths(scene) == ["/dq", "/dq/ab", "/dq/ab/c"])
        let hidden = try await scene.pydio("mkdir", "plans:/.hidden")
        #expect(hidden.status == 65)
        #expect(hidden.run.errors == ["error: plans:/.hidden: the server says: Forbidden"])
    }

    @Test(arguments: ["mv", "cp"])
    func newNamesAreTheServers(command: String) async throws {
        let scene = try await scene()
        for name in ["/a", "/xy", "/d/b"] { try scene.server.addFile(name, Array(name.utf8)) }
        let taken = try await scene.pydio(command, "plans:/a", "plans:/x|y")
        #expect(taken.status == 65)
        #expect(taken.run.errors == ["error: plans:/xy already exists: --force replaces it"])
        let (status, run) = try await scene.pydio(command, "plans:/a", "plans:/d/n\"ew", "--json")
        #expect(status == 0)
        #expect(run.objects.map { $0["path"] as? String } == ["/d/new"])
        #expect(scene.remoteText("/d/new") == "/a")
        let beside = try await scene.pydio(command, "plans:/d/b", "plans:/d/c?", "--json")
        #expect(beside.run.objects.map { $0["path"] as? String } == ["/d/c"])
        #expect(scene.remoteText("/d/c") == "/d/b" && scene.remoteText("/xy") == "/xy")
    }

    // MARK: Copies and moves

    @Test(arguments: FakePydioMode.allCases)
    func aCopyBesideItsOriginalGetsItsName_andLeavesNothingElse(mode: FakePydioMode) async throws {
        let scene = try await scene(mode)
        try scene.server.addFile("/a.txt", Array("a".utf8))
        try scene.server.addFile("/d/x", Array("x".utf8))
        for (source, target) in [("/a.txt", "/b.txt"), ("/d", "/e")] {
            let (status, run) = try await scene.pydio("cp", "plans:\(source)", "plans:\(target)", "--json")
            #expect(status == 0, "\(run.errors)")
            #expect(run.objects.map { $0["path"] as? String } == [target])
        }
        #expect(try await scene.pydio("cp", "plans:/a.txt", "plans:/b.txt", "--force").status == 0)
        #expect(paths(scene) == ["/a.txt", "/b.txt", "/d", "/d/x", "/e", "/e/x"])
        #expect(scene.remoteText("/b.txt") == "a" && scene.remoteText("/e/x") == "x")
    }

    @Test(arguments: ["mv", "cp"])
    func aNewNameDoesNotNeedTheOldOneToBeFree(command: String) async throws {
        let scene = try await scene()
        for name in ["/a", "/d/a"] { try scene.server.addFile(name, Array(name.utf8)) }
        #expect(try await scene.pydio(command, "plans:/a", "plans:/d/new").status == 0)
        #expect(scene.remoteText("/d/a") == "/d/a" && scene.remoteText("/d/new") == "/a")
        #expect(paths(scene) == (command == "cp" ? ["/a"] : []) + ["/d", "/d/a", "/d/new"])
    }

    @Test func aCopyThatFailsLeavesNothing() async throws {
        let scene = try await scene()
        try scene.server.addFile("/a")
        scene.server.inject(.errorDocument("No space left"), into: "copy")
        #expect(try await scene.pydio("cp", "plans:/a", "plans:/b").status == 65)
        scene.server.inject(.errorDocument("No such name"), into: "rename")
        #expect(try await scene.pydio("cp", "plans:/a", "plans:/b").status == 65)
        #expect(scene.server.paths() == ["/a"])
    }

    // MARK: Empty files, links

    @Test func emptyFilesArePut() async throws {
        let scene = try await scene()
        try scene.write("", to: "d/empty")
        try scene.write("x", to: "d/full")
        let (status, run) = try await scene.pydio("put", "-r", scene.local("d").path, "plans:", "--json")
        #expect(status == 0, "\(run.errors)")
        #expect(scene.remoteText("/d/empty") == "" && scene.remoteText("/d/full") == "x")
        #expect(try await scene.pydio("put", "-r", scene.local("d").path, "plans:", "--force").status == 0)
        #expect(try await scene.pydio("put", "-", "plans:/piped", input: "").status == 0)
        #expect(paths(scene) == ["/d", "/d/empty", "/d/full", "/piped"])
    }

    // MARK: Key pairs

    @Test func logoutRevokesTheKeyPair() async throws {
        let scene = try await scene(.v8)
        #expect(try await scene.pydio("ls", "plans:").status == 0)
        #expect(scene.kept.contains("keyPair"))
        let kept = try Data(contentsOf: scene.file)
        #expect(try await scene.pydio("logout").status == 0)
        #expect(scene.kept.isEmpty)
        try kept.write(to: scene.file)
        try scene.setMode(0o600)
        #expect(try await scene.pydio("ls", "plans:").status == 77)
    }

    @Test func removingAndReplacingWorkWithAKeyPair() async throws {
        let scene = try await scene(.v8)
        for name in ["/a", "/b", "/c", "/recycle_bin/d"] { try scene.server.addFile(name, Array(name.utf8)) }
        #expect(try await scene.pydio("mv", "plans:/a", "plans:/b", "--force").status == 0)
        #expect(scene.remoteText("/b") == "/a")
        #expect(try await scene.pydio("rm", "plans:/c", "plans:/recycle_bin/d").status == 0)
        #expect(paths(scene) == ["/b"])
        #expect(!scene.server.exists("/recycle_bin/d"))
    }

    // MARK: Listing

    @Test func aFolderThatCannotBeOpenedIsTold_andTheOthersAreListed() async throws {
        let scene = try await scene()
        for name in ["/a/x", "/b/y", "/c/z"] { try scene.server.addFile(name) }
        scene.server.setGate { request in
            guard request.action == "ls", request.parameter("dir") == "/b" else { return nil }
            return .error("Error while trying to open directory /b")
        }
        let (status, run) = try await scene.pydio("ls", "-r", "plans:", "--json")
        #expect(status == 65)
        let listed = run.objects.compactMap { $0["path"] as? String }
        #expect(listed == ["/a", "/a/x", "/b", "/c", "/c/z", "/recycle_bin"])
        #expect(run.errors.count == 1 && run.errors.first?.contains("plans:/b: the server says: ") == true)
    }

    @Test func anAccountWithoutWorkspacesIsTold() async throws {
        let scene = try await scene()
        scene.server.configure { $0.users[0].condition = .mustChangePassword }
        let (status, run) = try await scene.pydio("workspaces")
        #expect(status == 0)
        #expect(run.errors.count == 1 && run.errors.first?.contains("may open no workspace") == true)
        let named = try await scene.pydio("ls", "plans:")
        #expect(named.status == 65 && named.run.words.contains("may open no workspace"))
    }

    // MARK: Logins

    @Test func aRefusedLoginIsNotTriedByEachWorkspace() async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio", "watch", "--json", "--poll-interval", "2"])
        #expect(
            await run.waitFor { lines in
                lines.count { $0.contains(#""to":"connected""#) } == 3
            }, "\(run.words)")
        scene.server.forgetRequests()
        scene.server.configure { $0.users = [FakePydioUser(id: "ada", password: "another")] }
        scene.server.expireSessions()
        #expect(await run.status() == 77)
        #expect(scene.server.count("login") == 1)
    }

    /// All of them find the same session dead at the same time.
    @Test(arguments: [FakePydioServer.SeedForm.text, .clear])
    func processesAtOnceLogInOnce(seedForm: FakePydioServer.SeedForm) async throws {
        var configuration = FakePydioServer.Configuration()
        configuration.seedForm = seedForm
        let scene = try await PydioScene(configuration)
        try scene.server.addFile("/a")
        #expect(try await scene.pydio("ls", "plans:").status == 0)
        for _ in 1...2 {
            scene.server.expireSessions()
            scene.server.forgetRequests()
            let runs = try (0..<6).map { _ in try scene.run(["pydio", "ls", "plans:"]) }
            for run in runs {
                #expect(await run.status() == 0, "\(run.errors)")
                #expect(run.errors == [])
            }
            #expect(scene.server.count("login") == 1)
        }
    }

    /// The other login may be stopped, or its server may not answer.
    @Test func whoWaitsForAnotherLoginSaysSo_andGoesOnAfterIt() async throws {
        let scene = try await scene()
        #expect(try await scene.pydio("ls", "plans:").status == 0)
        let lock = try scene.takeLoginTurn()
        defer { close(lock) }
        scene.server.expireSessions()
        scene.server.forgetRequests()
        let run = try scene.run(["pydio", "ls", "plans:"])
        #expect(
            await eventually {
                run.errors.contains { $0.contains("waiting for another command") && $0.contains("logging in as ada") }
            }, "\(run.errors)")
        #expect(scene.server.count("login") == 0)
        flock(lock, LOCK_UN)
        #expect(await run.status() == 0)
        #expect(scene.server.count("login") == 1)
    }
}
