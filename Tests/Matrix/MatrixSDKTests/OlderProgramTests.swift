import Basics
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Behavior that programs for the iOS SDK rely on.
@Suite(.overSockets)
struct OlderProgramTests {
    @MainActor
    private final class Delegate: MXSessionDelegate {
        private(set) var errorCount = 0

        func session(_ session: MXSession, didReceiveError error: any Error) { errorCount += 1 }
    }

    @MainActor
    @Test func parametersOfARoomAreAnObject() {
        let params = MXRoomCreationParameters()
        params.name = "Lobby"
        let same = params
        same.topic = "Everything"
        #expect((params.name, params.topic) == ("Lobby", "Everything"))
        let direct = MXRoomCreationParameters(forDirectRoomWithUser: "@b:s")
        #expect(direct.isDirect && direct.inviteArray == ["@b:s"] && direct.preset == kMXRoomPresetTrustedPrivateChat)
    }

    @Test func credentialsComeFromAResponse() async throws {
        let given = MXCredentials(homeServer: "https://s", userId: "@a:s", accessToken: "t")
        #expect(MXCredentials(from: MXResponse.success(given)) == given)
        #expect(MXCredentials(from: given) == given)
        let nobody = MXCredentials(from: .failure(MatrixError(.network, "no way")))
        #expect(nobody == MXCredentials())
        await #expect { try await MXSession(credentials: nobody).start() } throws: {
            ($0 as? MatrixError)?.code == .unauthenticated
        }
    }

    @MainActor
    @Test func thereIsOneServiceForAll() {
        #expect(MXMatrixService.shared === MXMatrixService.shared)
        #expect(MXMatrixService.shared.connectionState == .disconnected)
    }

    @Test func aSessionKnowsUsers_andARoomWhetherItIsPublic() async throws {
        let scene = try await SessionScene()
        func rule(_ rule: String) -> String {
            #"""
            {"type":"m.room.join_rules","event_id":"$\#(rule)","sender":"@a:s","state_key":"",
            "content":{"join_rule":"\#(rule)"}}
            """#
        }
        let presence = ["@c:s", "@b:s"].map { user in
            #"{"type":"m.presence","sender":"\#(user)","content":{"presence":"online"}}"#
        }
        scene.script(
            Sync.answer(
                "s1",
                Sync.room(state: Sync.members + [rule("public")])
                    + #","presence":{"events":[\#(presence.joined(separator: ","))]}"#))
        try await scene.session.start()
        #expect(scene.session.users.map(\.userId) == ["@b:s", "@c:s"])
        #expect(scene.session.users().map(\.presence) == [.online, .online])
        let room = try #require(scene.session.room(withRoomId: "!r:s"))
        #expect(room.state?.isJoinRulePublic == true)
        await scene.next(Sync.answer("s2", Sync.room(timeline: [rule("invite")])))
        #expect(await eventually { room.state?.isJoinRulePublic == false })
    }

    @MainActor
    @Test func aDelegateThatNobodyKeepsIsReportedOnce() async throws {
        let lines = LogLines()
        let scene = try await SessionScene { $0.logger = lines.logger }
        scene.session.delegate = Delegate()
        #expect(await eventually { lines.contains("warning a delegate is gone") })
        scene.script(.json("{}", status: 500))
        try? await scene.session.start()
        #expect(lines.all.count { $0.contains("a delegate is gone") } == 1)
    }

    @MainActor
    @Test func aDelegateThatIsKept_orTakenAway_isNotReported() async throws {
        let (lines, delegate) = (LogLines(), Delegate())
        let scene = try await SessionScene { $0.logger = lines.logger }
        scene.session.delegate = Delegate()
        scene.session.delegate = delegate
        scene.script(.json("{}", status: 500), Sync.answer("s1"))
        try? await scene.session.start()
        #expect(await eventually { await delegate.errorCount == 1 })
        scene.session.delegate = nil
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(!lines.contains("a delegate is gone"))
    }
}
