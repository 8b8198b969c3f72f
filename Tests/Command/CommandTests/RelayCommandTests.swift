import EventRelay
import Foundation
import PusherMockServer
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct RelayCommandTests {
    private static let application = [
        "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
        "PUSHER_TLS": "0", "PUSHER_HOST": "127.0.0.1:1",
    ]

    private func beat(_ scene: RelayScene, _ key: String, _ json: String) async throws {
        _ = try await scene.connection.publish(
            OutgoingMessage(
                subject: "$KV.RELAY.\(key)", payload: Array(json.utf8), messageID: nil, expectedStream: "KV_RELAY"))
    }

    // MARK: setup

    @Test func setupMakesAStreamForDeadLetters() async throws {
        let scene = try await RelayScene.start(hasStreams: false)
        let run = try scene.run(["relay", "setup", "--max-bytes", "16777216"])
        #expect(await run.status() == 0)
        #expect(run.errors.contains { $0.contains("DEAD") })
        #expect(try await scene.connection.streamStatus("DEAD")?.settings.subjects == ["dead.>"])
        let again = try scene.run(["relay", "setup", "--max-bytes", "16777216"])
        #expect(await again.status() == 0)
        // Relays of another stream share it, whatever the size of their own.
        let other = try scene.run([
            "relay", "setup", "--stream", "OTHER", "--prefix", "other", "--bucket", "OTHER", "--max-bytes", "1048576",
        ])
        #expect(await other.status() == 0, "\(other.errors)")
    }

    // MARK: status

    @Test func statusOfAnotherBucketSaysWhatIsMissing() async throws {
        let scene = try await RelayScene.start()
        let run = try scene.run(["relay", "status", "--bucket", "nope"])
        #expect(await run.status() == 69)
        #expect(run.errors == ["error: there is no bucket nope: create it with pusher-cli relay setup"])
    }

    @Test func statusOfAStreamThatIsNoBucketEnds() async throws {
        let scene = try await RelayScene.start()
        // It has a bucket's name, but not a bucket's subjects.
        _ = try await scene.connection.setUp(.events(name: "KV_odd", prefix: "odd", replicas: 1, maximumBytes: 1 << 20))
        let run = try scene.run(["relay", "status", "--bucket", "odd"])
        #expect(await eventually(within: .seconds(20)) { await run.status() != nil })
        #expect(await run.status() == 65)
        #expect(run.errors.first?.contains("bucket odd") == true)
    }

    @Test func statusTellsOfJunkRecords() async throws {
        let scene = try await RelayScene.start()
        try await beat(scene, "h.m-0000000000000001", #"{"inc":1,"n":5}"#)
        try await beat(scene, "h.m-0000000000000002", #"{"inc":-7,"n":5}"#)
        try await beat(scene, "h.junk", "nonsense")
        try await beat(scene, "s.5", "nonsense")
        try await beat(scene, "s.9999", #"{"owner":"","inc":1,"term":1}"#)
        let run = try scene.run(["relay", "status", "--json"])
        #expect(await run.status() == 0)
        #expect(run.output.count { $0.contains(#""type":"relay""#) } == 1)
        #expect(!run.outputText.contains("-8"))
        #expect(run.errors.contains { $0.contains("4 records") && $0.contains("cannot be read") }, "\(run.errors)")
    }

    /// The output used to be "lag 1795785511.9 s".
    @Test func aLagThatIsNotKnownIsCalledUnknown() async throws {
        let scene = try await RelayScene.start()
        try await beat(scene, "h.m-0000000000000001", #"{"inc":1,"n":5,"settled":0}"#)
        let run = try scene.run(["relay", "status"])
        #expect(await run.status() == 0)
        #expect(run.outputText.contains("lag unknown"), "\(run.outputText)")
    }

    @Test func aBucketIsNoStreamOfEvents() async throws {
        let run = try CommandRun(
            ["relay", "status", "--stream", "KV_RELAY"], environment: ["NATS_URL": "nats://127.0.0.1:1"])
        #expect(await run.status() == 64)
        #expect(run.errors.first?.contains("--stream") == true)
    }

    // MARK: run

    @Test func aPrefixThatTheStreamDoesNotTakeEndsTheRelay() async throws {
        let scene = try await RelayScene.start()
        let run = try scene.run(["relay", "price", "--prefix", "other"], environment: Self.application)
        #expect(await run.status() == 65)
        #expect(run.errors.last?.contains("stream EVENTS takes ev.>, not other.>") == true, "\(run.errors)")
    }

    @Test func aMissingStreamEndsTheRelay() async throws {
        let scene = try await RelayScene.start(hasStreams: false)
        let run = try scene.run(["relay", "price"], environment: Self.application)
        #expect(await run.status() == 69)
        #expect(run.errors.last == "error: there is no stream EVENTS: create it with pusher-cli relay setup")
    }

    @Test(arguments: [#""ev.>""#, #""$KV.RELAY.>""#])
    func aRelayThatMayNotPublishEndsWithItsStatus(missing: String) async throws {
        let rights = [
            #""ev.>""#, #""$KV.RELAY.>""#, #""$JS.API.STREAM.INFO.EVENTS""#, #""$JS.API.STREAM.INFO.KV_RELAY""#,
            #""$JS.API.STREAM.MSG.GET.KV_RELAY""#, #""$JS.API.CONSUMER.CREATE.KV_RELAY.>""#,
            #""$JS.API.CONSUMER.MSG.NEXT.KV_RELAY.>""#, #""$JS.API.CONSUMER.DELETE.KV_RELAY.>""#,
        ].filter { $0 != missing }.joined(separator: ", ")
        let scene = try await RelayScene.start(
            configuration: """
                authorization { users: [
                    { user: operator, password: pw }
                    { user: relay, password: pw, permissions: { publish: [\(rights)], subscribe: "_INBOX.>" } }
                ] }

                """, user: "operator")
        let run = try scene.run(
            ["relay", "price"],
            environment: Self.application.merging(["NATS_USER": "relay", "NATS_PASSWORD": "pw"]) { $1 })
        #expect(await run.status() == 77)
        #expect(run.errors.last?.contains("may not publish") == true, "\(run.errors)")
    }

    @Test func aPusherServerThatCannotBeReachedIsTold() async throws {
        let scene = try await RelayScene.start()
        let run = try scene.run(["relay", "price"], environment: Self.application)
        #expect(await eventually { run.errors.contains { $0.contains("127.0.0.1:1") && $0.contains("trying again") } })
        run.interrupt()
        #expect(await run.status() == 0)
    }

    @Test func aStreamThatIsGoneIsTold() async throws {
        let server = try await PusherMockServer.start()
        let scene = try await RelayScene.start()
        let run = try scene.run(
            ["relay", "price"],
            environment: Self.application.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        #expect(await server.waitFor { $0.channels() == ["price"] })
        try await scene.deleteStream("EVENTS")
        await server.publish(event: "changed", channel: "price", data: "1")
        #expect(await eventually { run.errors.contains { $0.contains("stream EVENTS") && $0.contains("relay setup") } })
        run.interrupt()
        _ = await run.status()
        await server.stop()
    }

    @Test func aStreamThatIsFullIsTold() async throws {
        let server = try await PusherMockServer.start()
        let scene = try await RelayScene.start(hasStreams: false)
        _ = try await scene.connection.setUp(.events(replicas: 1, maximumBytes: 2048))
        _ = try await scene.connection.setUp(.records(replicas: 1, maximumBytes: 1 << 20))
        let run = try scene.run(
            ["relay", "price"],
            environment: Self.application.merging(["PUSHER_HOST": "127.0.0.1:\(server.port)"]) { $1 })
        #expect(await server.waitFor { $0.channels() == ["price"] })
        for number in 0..<20 {
            await server.publish(
                event: "changed", channel: "price", data: "\(number)" + String(repeating: "x", count: 200))
        }
        #expect(await eventually { run.errors.contains { $0.contains("stream EVENTS is full") } }, "\(run.errors)")
        run.interrupt()
        _ = await run.status()
        await server.stop()
    }
}
