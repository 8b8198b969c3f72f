import CurlTransport
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Section 13.14 of the protocol's notes.
@Suite struct FakePydioFaultTests {
    private func client() async throws -> RawClient { try await RawClient.start(.start()) }

    @Test func pagesComeInsteadOfAnswersAndNothingIsDone() async throws {
        let client = try await client()
        let faults: [(FakePydioServer.Fault, Int, String)] = [
            (.htmlPage(), 200, "<html>"), (.htmlPage(502), 502, "<html>"), (.emptyBody, 200, ""),
            (.status(500), 500, ""),
            (.scriptError, 200, "<script"), (.loginRedirect, 302, ""),
        ]
        for (fault, status, start) in faults {
            client.server.inject(fault, into: "mkdir")
            let answer = try await client.post("mkdir", ["dir": "/", "dirname": "a"])
            #expect(answer.status == status && answer.text.hasPrefix(start))
            #expect(answer.text.isEmpty == start.isEmpty && answer.type.hasPrefix("text/html"))
        }
        #expect(client.server.paths().isEmpty && client.server.count("mkdir") == faults.count)
        _ = try await client.post("mkdir", ["dir": "/", "dirname": "a"])
        #expect(client.server.paths() == ["/a"])
    }

    @Test func aRedirectLeadsToAPageToLogIn() async throws {
        let client = try await client()
        client.server.inject(.loginRedirect, into: "ls")
        let location = try await client.get("ls").response.fields["Location"]
        #expect(location == "/login.html")
        let page = try await client.open("/login.html")
        #expect(page.status == 200 && page.type.hasPrefix("text/html") && page.text.contains("<form"))
    }

    @Test func documentsAreCutWhereTheyAreToldTo() async throws {
        let client = try await client()
        let whole = try await client.get("ls").text
        client.server.inject(.truncated, into: "ls")
        let half = try await client.get("ls").text
        #expect(whole.hasPrefix(half) && half.utf8.count == whole.utf8.count / 2)
        client.server.inject(.cut(after: 20), into: "ls")
        await #expect(throws: TransportError.self) { try await client.get("ls") }
        client.server.inject(.drop, into: "ls")
        await #expect(throws: TransportError.self) { try await client.get("ls") }
        client.server.inject(.contentType("text/plain"), into: "ls")
        #expect(try await client.get("ls").type == "text/plain")
        client.server.inject(.garbage, into: "ls")
        let garbage = try await client.get("ls")
        #expect(garbage.type == "text/xml; charset=UTF-8" && !garbage.text.contains("<tree"))
    }

    @Test func faultsHitTheRequestsTheyAreMeantFor() async throws {
        let client = try await client()
        client.server.inject(.errorDocument("x"), into: "ls", times: 2, after: 1)
        var errors: [Bool] = []
        for _ in 0..<4 { errors.append(try await client.get("ls").text.contains("ERROR")) }
        #expect(errors == [false, true, true, false])
        client.server.inject(.requireAuth, times: nil)
        for action in ["ls", "ping", "ls"] {
            #expect(try await client.get(action).xml == "<tree ><require_auth/></tree>")
        }
        client.server.clearFaults()
        #expect(try await client.get("ping").text.isEmpty)
    }

    @Test func answersCanBeHeldBack() async throws {
        let client = try await client()
        let server = client.server
        server.inject(.hold, into: "ls")
        let releasing = Task {
            let isHeld = await eventually { server.heldCount == 1 }
            server.release()
            return isHeld
        }
        #expect(try await client.get("ls").xml.hasPrefix("<tree "))
        #expect(await releasing.value && server.heldCount == 0)
    }

    @Test func aGateAnswersBeforeTheServer() async throws {
        let client = try await client()
        client.server.setGate { $0.action == "ls" ? .text("gate") : nil }
        #expect(try await client.get("ls").text == "gate")
        #expect(try await client.get("ping").text.isEmpty)
    }

    @Test func droppedConnectionsAreOpenedAnew() async throws {
        let client = try await client()
        let server = client.server
        server.inject(.hold, into: "ls")
        let dropping = Task {
            let isHeld = await eventually { server.heldCount == 1 }
            server.dropConnections()
            return isHeld
        }
        // libcurl retries once on a reused connection.
        let answer = try? await client.get("ls")
        #expect(await dropping.value)
        #expect(answer == nil || server.count("ls") == 2)
        server.release()
        #expect(try await client.get("ping").status == 200)
    }

    @Test func thereIsNothingElsewhere() async throws {
        var configuration = FakePydioServer.Configuration()
        configuration.basePath = "/pydio"
        let client = try await RawClient.start(.start(configuration))
        #expect(client.server.address.hasSuffix("/pydio"))
        #expect(try await client.open("/").type.hasPrefix("text/html"))
        #expect(try await client.open("/other").status == 404)
        #expect(try await client.open("/api/plans/ls").status == 404)
    }
}
