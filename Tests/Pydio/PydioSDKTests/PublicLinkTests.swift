import Basics
import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

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

    /// Servers of version 5.2 refuse the second of two links within a second.
    @Test func aLinkThatIsRefusedOnceIsAskedForAgain() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.errorDocument("exists already"), into: "share")
            let params = PublicLinkRequestParams(workspaceId: "0", path: "/a.txt")
            let link = try await scene.client.createPublicLink(params)
            #expect(link.path.contains("/public/") && scene.server.shareCount(of: "/a.txt") == 1)
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

    // MARK: Existing links

    private static let modes = FakePydioMode.allCases

    private static func with(_ mode: FakePydioMode, _ body: (PydioScene) async throws -> Void) async throws {
        try await PydioScene.with(FakePydioServer.Configuration(mode: mode), body)
    }

    /// - Returns: The name of the link.
    private static func make(
        _ scene: PydioScene, _ change: (inout PublicLinkRequestParams) -> Void = { _ in }
    ) async throws -> String {
        var params = PublicLinkRequestParams(workspaceId: "0", path: "/docs/b.txt")
        change(&params)
        return try await scene.client.createPublicLink(params).lastPathComponent
    }

    @Test(arguments: modes)
    func aLinkIsDescribed(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            let id = try await Self.make(scene) {
                ($0.label, $0.password, $0.expirationDays, $0.downloadLimit) = ("Plan & é", "s3cret", 7, 2)
            }
            let links = try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt")
            let link = try #require(links.first)
            #expect(links.count == 1 && link.linkId == id)
            #expect(link.url?.absoluteString == "\(scene.server.address)/public/\(id)")
            #expect(link.label == "Plan & é" && link.hasPassword && link.allowsDownload && !link.isExpired)
            #expect(link.expirationDays == 7 && link.downloadLimit == 2 && link.downloadCount == 0)
            _ = try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: id)
            _ = try await Self.make(scene)
            let plain = try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt").first
            #expect(plain?.hasPassword == false && plain?.expirationDays == nil && plain?.downloadLimit == nil)
        }
    }

    @Test func ofSeveralLinksServersDescribeTheFirst() async throws {
        for mode in Self.modes {
            try await Self.with(mode) { scene in
                let ids = [try await Self.make(scene), try await Self.make(scene)]
                let links = try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt")
                #expect(links.map(\.linkId) == [ids[0]])
            }
        }
    }

    /// As in version 5.2.5.
    @Test func linksAreDescribedAsWorkspaces_ifTheServerKnowsThemOnlySo() async throws {
        var configuration = FakePydioServer.Configuration(mode: .v5_2)
        configuration.describesMinisites = false
        try await PydioScene.with(configuration) { scene in
            let id = try await Self.make(scene)
            let links = try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt")
            #expect(links.map(\.linkId) == [id])
            try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: id)
            #expect(scene.server.shareCount(of: "/docs/b.txt") == 0)
            #expect(try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt").isEmpty)
        }
    }

    @Test func aNodeWithoutLinksHasNone_orTheServerSaysSo() async throws {
        try await Self.with(.v5_2) { scene in
            let links = try await scene.client.publicLinks(workspaceId: "0", path: "/a.txt")
            #expect(links.isEmpty)
        }
        try await Self.with(.v8) { scene in
            let error = await failure { _ = try await scene.client.publicLinks(workspaceId: "0", path: "/a.txt") }
            #expect(error?.code == .errorResponse)
            #expect(error?.serverMessage == "Could not find any share data for /a.txt")
        }
    }

    @Test(arguments: modes)
    func aChangeLeavesTheRestAsItWas(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            let id = try await Self.make(scene) {
                ($0.label, $0.password, $0.downloadLimit) = ("L", "first", 5)
                $0.additional = ["simple_right_write": "on"]
            }
            let other = try await Self.make(scene) { $0.password = "other" }
            var changes = PublicLinkChanges()
            changes.expirationDays = .set(3)
            let link = try await scene.client.changePublicLink(
                workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
            #expect(link.linkId == id && link.expirationDays == 3 && link.downloadLimit == 5 && link.label == "L")
            var stored = try #require(scene.server.publicLinks(of: "/docs/b.txt").first)
            #expect(stored.password == "first" && stored.canRead && stored.canWrite && stored.canDownload)

            changes = PublicLinkChanges()
            (changes.password, changes.downloadLimit, changes.label) = (.set("second"), .set(9), "M")
            try await scene.client.changePublicLink(
                workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
            stored = try #require(scene.server.publicLinks(of: "/docs/b.txt").first)
            #expect(stored.password == "second" && stored.downloadLimit == 9 && stored.label == "M")
            #expect(stored.expiry != nil)

            changes = PublicLinkChanges()
            changes.password = .remove
            let open = try await scene.client.changePublicLink(
                workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
            #expect(!open.hasPassword && scene.server.publicLinks(of: "/docs/b.txt").first?.password == nil)
            #expect(scene.server.publicLinks(of: "/docs/b.txt").last?.id == other)
            #expect(scene.server.publicLinks(of: "/docs/b.txt").last?.password == "other")
        }
    }

    @Test(arguments: modes)
    func onlyNewerServersRemoveAnExpiry(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            let id = try await Self.make(scene) { ($0.expirationDays, $0.downloadLimit) = (7, 2) }
            var changes = PublicLinkChanges()
            (changes.expirationDays, changes.downloadLimit) = (.remove, .remove)
            scene.server.forgetRequests()
            let error = await failure {
                let link = try await scene.client.changePublicLink(
                    workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
                #expect(link.expirationDays == nil && link.downloadLimit == nil)
            }
            guard mode == .v5_2 else { return #expect(error == nil) }
            #expect(error?.code == .unsupportedOperation)
            #expect(error?.message.contains("before version 7") == true)
            #expect(scene.server.count("share") == 0)
        }
    }

    @Test(arguments: modes)
    func oneLinkIsRevoked_andTheOthersStay(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await Self.make(scene)) }
            try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: ids[1])
            #expect(scene.server.publicLinks(of: "/docs/b.txt").map(\.id) == [ids[0], ids[2]])
            // The last one, about which servers report nothing afterwards.
            for id in [ids[0], ids[2]] {
                try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: id)
            }
            #expect(scene.server.publicLinks(of: "/docs/b.txt").isEmpty)
        }
    }

    @Test(arguments: modes)
    func aLinkThatIsNotThereEndsNoOther(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            _ = try await Self.make(scene)
            scene.server.forgetRequests()
            for id in ["none", "", "é\u{202E}", "../x"] {
                for body in [
                    { try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: id) },
                    {
                        var changes = PublicLinkChanges()
                        changes.password = .remove
                        try await scene.client.changePublicLink(
                            workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
                    },
                ] as [() async throws -> Void] {
                    let error = await failure(body)
                    #expect(error?.code == .invalidArgument || error?.code == .errorResponse)
                }
            }
            #expect(scene.server.shareCount(of: "/docs/b.txt") == 1)
            #expect(scene.server.count("share") == 0 && (mode == .v8 || scene.server.count("unshare") == 0))
        }
    }

    @Test(arguments: modes)
    func anEmptyAnswerIsNoList_andALinkThatStaysIsTold(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            let id = try await Self.make(scene)
            scene.server.forgetRequests()
            scene.server.inject(.emptyBody, into: "unshare", times: nil)
            let stays = await failure {
                try await scene.client.revokePublicLink(workspaceId: "0", path: "/docs/b.txt", linkId: id)
            }
            #expect(stays?.message == "the server does not end the link; it still works")
            scene.server.inject(.emptyBody, into: "load_shared_element_data", times: nil)
            let error = await failure { _ = try await scene.client.publicLinks(workspaceId: "0", path: "/docs/b.txt") }
            #expect(error?.code == .receivedNotExpectedAnswer)
            let unchanged = await failure {
                try await scene.client.changePublicLink(
                    workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: PublicLinkChanges())
            }
            #expect(unchanged?.code == .receivedNotExpectedAnswer && scene.server.count("share") == 0)
        }
    }

    @Test(arguments: [
        (#"{"links":[],"repositoryId":"r"}"#, 0), (#"{"repositoryId":7,"entries":[]}"#, 0), ("[]", 0), ("{}", 0),
        (#"[{"element_id":"e","publiclet_link":"https://h/e","has_password":true}]"#, 1),
        (#"{"links":{"h":{"hash":"h","public_link":"javascript:alert(1)"},"x":7},"repositoryId":"r"}"#, 1),
        (#"{"links":[{"hash":"h","download_limit":"3","expire_time":1}],"repositoryId":1,"entries":{"a":{}}}"#, 1),
        (#"{"minisite":{"hash":"h"},"expire_after":-3,"expire_time":"x","is_expired":1}"#, 1),
    ])
    func whatServersWriteOtherwiseIsRead(answer: String, count: Int) async throws {
        try await PydioScene.with { scene in
            scene.server.setGate {
                $0.action == "load_shared_element_data" ? .text(answer, type: "application/json") : nil
            }
            let links = try await scene.client.publicLinks(workspaceId: "0", path: "/a.txt")
            #expect(links.count == count)
            #expect(links.allSatisfy { $0.url?.scheme == nil || $0.url?.scheme == "https" })
        }
    }

    @Test(arguments: [
        #"{"x":1}"#, "7", "[7]", #"{"minisite":{}}"#, #"{"error":true,"label":"no\u001b[2J","repositoryId":"r"}"#, "no",
    ])
    func whatIsNoListOfLinksIsAnError(answer: String) async throws {
        try await PydioScene.with { scene in
            scene.server.setGate {
                $0.action == "load_shared_element_data" ? .text(answer, type: "application/json") : nil
            }
            let error = await failure { _ = try await scene.client.publicLinks(workspaceId: "0", path: "/a.txt") }
            #expect(error != nil && error?.message.contains("\u{1B}") == false)
        }
    }

    @Test func aLinkOfTheOldestKindCannotBeChanged() async throws {
        try await PydioScene.with { scene in
            scene.server.act("share", ["file": "/a.txt"], as: "ada")
            let id = try #require(scene.server.publicLinks(of: "/a.txt").first?.id)
            var changes = PublicLinkChanges()
            changes.password = .set("tellnobody")
            let error = await failure {
                try await scene.client.changePublicLink(workspaceId: "0", path: "/a.txt", linkId: id, changes: changes)
            }
            #expect(error?.code == .unsupportedOperation)
            try await scene.client.revokePublicLink(workspaceId: "0", path: "/a.txt", linkId: id)
            #expect(scene.server.shareCount(of: "/a.txt") == 0)
        }
    }

    @Test func aNewPasswordIsInNoErrorAndNoDescription() async throws {
        try await PydioScene.with { scene in
            let id = try await Self.make(scene)
            scene.server.inject(.errorDocument("refused: tellnobody"), into: "share")
            var changes = PublicLinkChanges()
            changes.password = .set("tellnobody")
            let error = await failure {
                try await scene.client.changePublicLink(
                    workspaceId: "0", path: "/docs/b.txt", linkId: id, changes: changes)
            }
            #expect(error?.serverMessage == "refused: …")
            var dumped = "\(changes) \(String(reflecting: changes)) "
            dump(changes, to: &dumped)
            #expect(!dumped.contains("tellnobody"))
        }
    }
}
