import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// `pydio api`.
@Suite(.overSockets)
struct PydioAPITests {
    private func scene(_ mode: FakePydioMode = .v8) async throws -> PydioScene {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        try scene.server.addFile("/a.txt", Array("hello".utf8))
        return scene
    }

    @Test func requestsAreSigned_andAnswersPrinted() async throws {
        let scene = try await scene()
        let list = try await scene.pydio("api", "get", "v2/fs/plans/", "--param", "children=df")
        #expect(list.status == 0, "\(list.run.errors)")
        #expect(list.run.objects.count == 1 && list.run.objects[0]["data"] != nil)
        let file = try scene.write("sent", to: "sent.txt").path
        let put = try await scene.pydio(
            "api", "PUT", "v2/io/plans/a.txt", "--input", file, "--field", "X-Rename-If-Exists=true")
        #expect(put.status == 0, "\(put.run.errors)")
        #expect(scene.remoteText("/a-1.txt") == "sent" && scene.remoteText("/a.txt") == "hello")
        let get = try await scene.pydio("api", "GET", "v2/io/plans/a.txt")
        #expect(get.run.output == ["hello"])
        #expect(try await scene.pydio("api", "DELETE", "v2/fs/plans/a.txt").status == 0)
        let missing = try await scene.pydio("api", "GET", "v2/fs/plans/a.txt")
        #expect(missing.status == 69)
        #expect(missing.run.errors.first?.contains("Cannot find file!") == true, "\(missing.run.errors)")
    }

    @Test func anOldServerHasNoKeyPairs() async throws {
        let scene = try await scene(.v5_2)
        let (status, run) = try await scene.pydio("api", "GET", "v2/user")
        #expect(status == 69)
        #expect(run.errors.count == 1 && run.errors[0].contains("needs a key pair"), "\(run.errors)")
    }

    @Test(arguments: [
        ["api"], ["api", "GET"], ["api", "LIST", "v2/user"], ["api", "GET", "/"],
        ["api", "GET", "v2/user", "--param", "x"],
        ["api", "GET", "v2/user", "--param", "a=1", "--param", "a=2"], ["api", "GET", "v2/user", "--input", "-"],
        ["api", "PUT", "v2/io/plans/a", "--type", "text/plain"],
    ])
    func wrongUseIsStatus64_beforeAnythingIsSent(arguments: [String]) async throws {
        let scene = try await scene()
        let run = try scene.run(["pydio"] + arguments)
        #expect(await run.status() == 64)
        #expect(scene.server.requests.isEmpty)
    }
}
