import Basics
import Foundation
import Glibc
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Forms of calls, states, and their notifications.
@Suite(.overSockets)
struct CallTests {
    private static let stateQueue = DispatchSpecificKey<Bool>()

    @Test func aCallWithBlocksIsUnderWayFromItsStartToItsBlock() async throws {
        try await PydioScene.with { scene in
            let client = scene.client
            let told = Lock<[Bool]>([])
            scene.server.inject(.hold, into: "ls")
            client.listNodes(
                ListNodesRequestParams(workspaceId: "0"),
                success: { _ in told.withLock { $0.append(client.progress) } }, failure: { _ in })
            #expect(client.progress)
            #expect(await eventually { scene.server.heldCount == 1 })
            scene.server.release()
            #expect(await eventually { told.withLock { $0 } == [true] && !client.progress })
            // Rejected before a request is made.
            client.chmod(
                workspaceId: "0", nodes: ["/a.txt"], mode: -1, success: { _ in },
                failure: { _ in told.withLock { $0.append(client.progress) } })
            #expect(client.progress)
            #expect(await eventually { told.withLock { $0 } == [true, true] && !client.progress })
        }
    }

    @Test func blocksAreCalledOnceOnTheirQueue() async throws {
        let queue = DispatchQueue(label: "blocks")
        queue.setSpecific(key: Self.stateQueue, value: true)
        try await PydioScene.with(options: { $0.completionQueue = queue }) { scene in
            let calls = Lock<[String]>([])
            // Nothing is called before this returns, because it blocks the queue.
            queue.sync {
                scene.client.listWorkspaces(
                    success: { workspaces in
                        let isThere = DispatchQueue.getSpecific(key: Self.stateQueue) == true
                        calls.withLock { $0.append("\(workspaces.count) \(isThere)") }
                    }, failure: { _ in calls.withLock { $0.append("failure") } })
                #expect(calls.withLock { $0.isEmpty })
            }
            #expect(await eventually { !calls.withLock { $0.isEmpty } })
            scene.server.inject(.errorDocument("No"), into: "ls")
            scene.client.listNodes(
                ListNodesRequestParams(workspaceId: "0"), success: { _ in calls.withLock { $0.append("success") } },
                failure: { error in
                    let isThere = DispatchQueue.getSpecific(key: Self.stateQueue) == true
                    calls.withLock { $0.append("\(error.errorCode) \(isThere)") }
                })
            #expect(await eventually { calls.withLock { $0.count } == 2 })
            queue.sync {}
            #expect(calls.withLock { $0 } == ["4 true", "6 true"])
        }
    }

    @Test func aCancelledOperationFails() async throws {
        try await PydioScene.with { scene in
            scene.server.inject(.hold, into: "get_xml_registry")
            let codes = Lock<[PydioError.Code]>([])
            let operation = scene.client.listWorkspaces(success: { _ in }) { error in
                codes.withLock { $0.append(error.code) }
            }
            #expect(await eventually { scene.server.heldCount == 1 })
            operation.cancel()
            #expect(operation.isCancelled)
            #expect(await eventually { codes.withLock { $0 } == [.cancelled] })
            #expect(await eventually { scene.server.connectionCount == 0 })
            #expect(!scene.client.progress)
        }
    }

    @Test func statesAreThoseOfTheOriginal() async throws {
        try await PydioScene.with { scene in
            let states = Lock<[PydioClientState]>([])
            func seen(_ count: Int) async -> [PydioClientState] {
                _ = await eventually { states.withLock { $0.count } >= count }
                return states.withLock { states in
                    defer { states = [] }
                    return states
                }
            }
            scene.client.onStateChange = { state in states.withLock { $0.append(state) } }
            #expect(scene.client.state == .idle && !scene.client.progress)
            _ = try await scene.client.listWorkspaces()
            #expect(await seen(4) == [.operation, .authorization, .operation, .finished])
            _ = try await scene.client.listWorkspaces()
            #expect(await seen(2) == [.operation, .finished])
            try await scene.client.authorize()
            #expect(await seen(2) == [.authorization, .finished])
            scene.server.configure { $0.loginValue = -1 }
            scene.server.expireSessions()
            _ = await failure { _ = try await scene.client.listWorkspaces() }
            #expect(await seen(3) == [.operation, .authorization, .finished])
            #expect(scene.client.state == .finished && !scene.client.progress)
        }
    }

    @Test func aCallIsFinishedAfterItsBlock() async throws {
        try await PydioScene.with { scene in
            try await scene.client.authorize()
            let told = Lock<[String]>([])
            scene.client.onStateChange = { state in told.withLock { $0.append("\(state)") } }
            scene.client.listWorkspaces(
                success: { [client = scene.client] _ in told.withLock { $0.append("block \(client.progress)") } },
                failure: { _ in })
            #expect(await eventually { told.withLock { $0.contains("finished") } })
            #expect(told.withLock { $0 } == ["operation", "block true", "finished"] && !scene.client.progress)
        }
    }

    @Test func anAddressThatIsNoneIsAnErrorOfEachCall() async {
        let client = PydioClient(server: "ftp://example.org", params: ServersParamsManager())
        for _ in 0..<2 {
            #expect(await failure { _ = try await client.listWorkspaces() }?.code == .invalidArgument)
        }
    }

    @Test func aServerThatIsNotThereIsAnErrorOfTheNetwork() async throws {
        try await PydioScene.with { scene in
            await scene.server.stop()
            let error = await failure { _ = try await scene.client.listWorkspaces() }
            #expect(error?.code == .network && error?.isRetryable == true)
        }
    }

    @Test func silenceEndsInTime() async throws {
        try await PydioScene.with(options: { $0.requestTimeout = .milliseconds(300) }) { scene in
            scene.server.inject(.silence, into: "get_xml_registry", times: nil)
            #expect(await failure { _ = try await scene.client.listWorkspaces() }?.code == .timedOut)
        }
    }

    @Test func largeAnswersAreBounded() async throws {
        try await PydioScene.with(options: { $0.maximumResponseSize = 1000 }) { scene in
            for number in 0..<50 { try scene.server.addFile("/file \(number)") }
            let error = await failure {
                _ = try await scene.client.listNodes(ListNodesRequestParams(workspaceId: "0"))
            }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test func certificatesOfAnOwnAuthorityAreTrusted() async throws {
        let authority = try await CertificateAuthority()
        var configuration = FakePydioServer.Configuration()
        configuration.tls = try await authority.issue("IP:127.0.0.1")
        try await PydioScene.with(configuration, options: { $0.caFile = authority.certificate }) { scene in
            let workspaces = try await scene.client.listWorkspaces()
            #expect(workspaces.count == 4)
            var options = scene.client.options
            options.caFile = nil
            let stranger = PydioClient(server: scene.server.url, params: scene.params, options: options)
            #expect(await failure { _ = try await stranger.listWorkspaces() }?.code == .network)
        }
    }

    @Test func aPinnedKeyIsTheOnlyOneThatIsTrusted() async throws {
        let authority = try await CertificateAuthority()
        let leaf = try await authority.makeSelfSigned("DNS:other.example")
        var configuration = FakePydioServer.Configuration()
        configuration.tls = leaf
        let pin = try await PublicKeyPin(leaf.pin())
        try await PydioScene.with(configuration, options: { $0.pinnedKey = pin }) { scene in
            let workspaces = try await scene.client.listWorkspaces()
            #expect(workspaces.count == 4)
            var options = scene.client.options
            options.pinnedKey = PublicKeyPin(sha256: [UInt8](repeating: 7, count: 32))
            let stranger = PydioClient(server: scene.server.url, params: scene.params, options: options)
            let error = await failure { _ = try await stranger.listWorkspaces() }
            #expect(error?.code == .network)
            #expect(error?.message.contains("is not the pinned one") == true)
        }
    }

    // MARK: Pages

    @Test func pagesArePutTogether() async throws {
        try await PydioScene.with { scene in
            for number in 0..<45 { try scene.server.addFile("/many/\(number + 100)") }
            scene.server.configure { ($0.pageThreshold, $0.pageSize) = (20, 20) }
            var params = ListNodesRequestParams(workspaceId: "0", path: "/many")
            params.page = 2
            let page = try await scene.client.listNodes(params).first
            #expect(page?.pagination == NodePagination(count: 45, total: 3, current: 2))
            #expect(page?.children?.count == 20)
            let all = try await scene.client.listAllNodes(params)
            #expect(all?.children?.map(\.name) == (100..<145).map(String.init))
            #expect(all?.children?.allSatisfy { $0.parent === all } == true)
            #expect(scene.server.count("ls") == 5)
        }
    }

    @Test func aFolderThatShrinksBetweenPagesIsListedWhole() async throws {
        try await PydioScene.with { scene in
            for number in 0..<45 { try scene.server.addFile("/many/\(number + 100)") }
            scene.server.configure { ($0.pageThreshold, $0.pageSize) = (20, 20) }
            scene.server.setGate { [server = scene.server] request in
                guard request.action == "ls", request.parameter("dir")?.contains("%23") == true else { return nil }
                server.configure { $0.pageThreshold = 100 }  // now looks small
                return nil
            }
            let params = ListNodesRequestParams(workspaceId: "0", path: "/many")
            #expect(try await scene.client.listAllNodes(params)?.children?.count == 45)
        }
    }

    @Test func aPageThatIsAnotherIsNoEndOfTheFolder() async throws {
        try await PydioScene.with { scene in
            let page = FakePydioAnswer.xml(
                #"<tree filename="/many"><pagination count="3" total="3" current="1"/><tree filename="/many/a"/></tree>"#
            )
            try await scene.client.authorize()
            scene.server.setGate { $0.action == "ls" ? page : nil }
            let error = await failure {
                _ = try await scene.client.listAllNodes(ListNodesRequestParams(workspaceId: "0", path: "/many"))
            }
            #expect(error?.code == .receivedNotExpectedAnswer && scene.server.count("ls") == 4)
        }
    }

    /// On global queues nothing else preserves the order.
    @Test func statesComeInOrderOnAConcurrentQueue() async throws {
        try await PydioScene.with(options: { $0.completionQueue = .global() }) { scene in
            try await scene.client.authorize()
            let (states, running, overlaps) = (Lock<[PydioClientState]>([]), Lock(0), Lock(0))
            scene.client.onStateChange = { state in
                if running.withLock({
                    $0 += 1; return $0
                }) > 1 {
                    overlaps.withLock { $0 += 1 }
                }
                letOthersRun()
                states.withLock { $0.append(state) }
                running.withLock { $0 -= 1 }
            }
            for _ in 0..<10 { _ = try await scene.client.stat(workspaceId: "0", path: "/a.txt") }
            #expect(await eventually { states.withLock { $0.count } == 20 })
            #expect(states.withLock { $0 } == (0..<10).flatMap { _ in [.operation, .finished] })
            #expect(overlaps.withLock { $0 } == 0)
        }
    }

    @Test func whatChangesSomethingIsNotSentOverAKeptConnection() async throws {
        let heads = Lock(0)
        // Accepts a second request on a connection, and breaks it without an answer.
        let server = SocketServer { peer in
            for number in 0..<2 {
                guard !peer.readHead().isEmpty else { return }
                heads.withLock { $0 += 1 }
                if number == 1 { return }
                let body = #"<tree><message type="SUCCESS">ok</message></tree>"#
                peer.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        try await PydioScene.with { scene in
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
            scene.params.setUser(User(userid: "ada", password: "x"), forServer: url)
            let client = PydioClient(server: url, params: scene.params, options: scene.client.options)
            for number in 1...3 {
                try await client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "\(number)"))
            }
            #expect(heads.withLock { $0 } == 3)
        }
    }

    @Test func tooManyPagesAreAnError() async throws {
        try await PydioScene.with(options: { $0.maximumPages = 2 }) { scene in
            scene.server.configure { ($0.pageThreshold, $0.pageSize) = (1, 1) }
            let error = await failure {
                _ = try await scene.client.listAllNodes(ListNodesRequestParams(workspaceId: "0"))
            }
            #expect(error?.code == .tooLarge && scene.server.count("ls") == 2)
        }
    }

    @Test func pagesThatAreTooLargeTogetherAreAnError() async throws {
        try await PydioScene.with(options: { $0.maximumListingSize = 10 }) { scene in
            scene.server.configure { ($0.pageThreshold, $0.pageSize) = (1, 1) }
            let error = await failure {
                _ = try await scene.client.listAllNodes(ListNodesRequestParams(workspaceId: "0"))
            }
            // The first is refused because no login has happened yet.
            #expect(error?.code == .tooLarge && scene.server.count("ls") == 3)
        }
    }

    @Test func whoMayNotReadGetsAnError() async throws {
        let user = FakePydioUser(id: "ada", password: PydioScene.password, rights: ["0": .read])
        try await PydioScene.with(FakePydioServer.Configuration(users: [user])) { scene in
            let error = await failure {
                try await scene.client.mkdir(MkDirRequestParams(workspaceId: "0", dir: "/", dirname: "x"))
            }
            #expect(error?.code == .errorResponse && scene.server.count("login") == 1)
        }
    }
}
