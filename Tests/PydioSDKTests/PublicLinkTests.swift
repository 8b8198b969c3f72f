import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Basics

@Suite(.overSockets)
struct PublicLinkTests {
    @Test(arguments: [FakePydioMode.v5_2, .v8])
    func aLinkIsMadeAsItIsWanted(mode: FakePydioMode) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode)) { scene in
            var params = PublicLinkRequestParams(workspaceId: "0", path: "/docs/b.txt")
            let link = try await scene.client.createPublicLink(params)
            #expect(link.absoluteString.hasPrefix(scene.server.url.absoluteString))
            let plain = try #require(scene.server.requests("share").last)
            #expect(plain.parameter("repo_label") == "b.txt" && plain.parameter("sub_action") == "create_minisite")
            #expect(["guest_user_pass", "expiration", "downloadlimit"].allSatisfy { plain.parameter($0) == nil })
            (params.label, params.password, params.expirationDays, params.downloadLimit) = ("Plan & é", "s3cret", 7, 2)
            let second = try await scene.client.createPublicLink(params)
            #expect(second != link && scene.server.shareCount(of: "/docs/b.txt") == 2)
            let full = try #require(scene.server.requests("share").last)
            #expect(full.parameter("repo_label") == "Plan & é" && full.parameter("guest_user_pass") == "s3cret")
            #expect(full.parameter("expiration") == "7" && full.parameter("downloadlimit") == "2")
        }
    }

    @Test(arguments: [
        ("103", PydioError.Code.errorResponse), ("/public/x", .receivedNotExpectedAnswer),
        ("", .receivedNotExpectedAnswer), ("javascript:alert(1)", .receivedNotExpectedAnswer),
        ("https://", .receivedNotExpectedAnswer), ("https://example.org/a b", .receivedNotExpectedAnswer),
        ("unknown sub_action", .receivedNotExpectedAnswer),
    ])
    func whatIsNoLinkIsAnError(answer: String, code: PydioError.Code) async throws {
        try await PydioScene.with { scene in
            scene.server.setGate { $0.action == "share" ? .text(answer) : nil }
            let params = PublicLinkRequestParams(workspaceId: "0", path: "/a.txt")
            let error = await failure { _ = try await scene.client.createPublicLink(params) }
            #expect(error?.code == code)
        }
    }

    @Test func thePasswordIsInNoErrorAndNoDescription() async throws {
        try await PydioScene.with { scene in
            scene.server.setGate { $0.action == "share" ? .error("refused: tellnobody") : nil }
            var params = PublicLinkRequestParams(workspaceId: "0", path: "/a.txt")
            params.password = "tellnobody"
            let error = await failure { _ = try await scene.client.createPublicLink(params) }
            #expect(error?.serverMessage == "refused: …")
            var dumped = "\(params) \(String(reflecting: params)) "
            dump(params, to: &dumped)
            #expect(!dumped.contains("tellnobody"))
        }
    }
}
