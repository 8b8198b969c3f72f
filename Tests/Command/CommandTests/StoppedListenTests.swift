import Basics
import Foundation
import MatrixTestSupport
import TestSupport
import Testing

/// Commands beside a `listen` that has the keys and was stopped, for example by Ctrl-Z.
@Suite(.overSockets)
struct StoppedListenTests {
    private func scene() async throws -> (scene: MatrixScene, listen: CommandRun) {
        let scene = try await MatrixScene()
        scene.server.on("GET", "v3/rooms/*/state/m.room.encryption", .json(#"{"algorithm":"m.megolm.v1.aes-sha2"}"#))
        scene.syncsBegin(MatrixScene.room(name: "Lobby"))
        let listen = try scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        return (scene, listen)
    }

    private func expect(_ result: String, in errors: [String], of listen: CommandRun) {
        #expect(
            errors.last
                == """
                error: process \(listen.processID), which has the keys of this login, does not answer: \(result). It may \
                be stopped: continue it or end it, then try again
                """)
    }

    @Test func sendSaysWhoHasTheKeys_andSendsNothing() async throws {
        let (scene, listen) = try await scene()
        listen.signal(SIGSTOP)
        defer { listen.signal(SIGKILL) }
        let send = try await scene.matrix("send", "!r:hs", "hi")
        #expect(send.status == 69)
        expect("nothing was done", in: send.run.errors, of: listen)
        #expect(scene.server.requests("PUT", "v3/rooms/*/send/*/*").isEmpty)
    }

    @Test func sendDoesNotWaitForAProcessThatIsStoppedMeanwhile() async throws {
        let (scene, listen) = try await scene()
        defer { listen.signal(SIGKILL) }
        scene.server.on("GET", "v3/rooms/*/members") { _ in
            listen.signal(SIGSTOP)
            return .silence
        }
        let send = try await scene.matrix("send", "!r:hs", "hi")
        #expect(send.status == 69)
        expect("nobody knows whether it was done", in: send.run.errors, of: listen)
    }
}
