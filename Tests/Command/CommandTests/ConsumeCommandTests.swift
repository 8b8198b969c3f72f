import EventRelay
import Foundation
import RelayTestSupport
import TestSupport
import Testing

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct ConsumeCommandTests {
    private func object(_ line: String?) throws -> [String: Any] {
        let line = try #require(line)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    // MARK: --exec

    @Test func anEventComesAgainUntilItsCommandSucceeds() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["one"])
        let gate = Gate()
        let run = try scene.run([
            "consume", "--group", "g", "--since", "all", "--count", "2",
            "--exec", "cat; echo; [ -e \(gate.path) ] || { touch \(gate.path); exit 3; }",
        ])
        #expect(await run.status() == 69)
        #expect(run.output == ["one", "one"])
        #expect(run.errors.contains { $0.contains("failed with status 3") && $0.contains("delivered again in 1 s") })
        // It is acknowledged now: only later events are delivered.
        try await scene.publish(["two"])
        let next = try scene.run(["consume", "--group", "g", "--count", "1", "--raw"])
        #expect(await next.status() == 0)
        #expect(next.output == ["two"])
    }

    @Test func anEventWhoseCommandKeepsFailingBecomesADeadLetter() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["poison"])
        let run = try scene.run([
            "consume", "--group", "g", "--since", "all", "--dead-after", "2", "--exec", "cat; echo; exit 1",
        ])
        #expect(await eventually { (try? await scene.connection.streamStatus("DEAD"))??.messages == 1 })
        #expect(await eventually { run.errors.contains { $0.contains("dead letter") } })
        run.interrupt()
        #expect(await run.status() == 69)
        #expect(run.output == ["poison", "poison"])
    }

    /// The command ends with the event whose last delivery has failed.
    @Test func theLastEventBecomesADeadLetterBeforeTheCommandEnds() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["poison"])
        let run = try scene.run([
            "consume", "--group", "g", "--since", "all", "--count", "1", "--dead-after", "1", "--exec", "exit 1",
        ])
        #expect(await run.status() == 69)
        #expect(run.errors.contains { $0.contains("becomes a dead letter") }, "\(run.errors)")
        #expect(try await scene.connection.streamStatus("DEAD")?.messages == 1)
    }

    @Test func aGroupWhoseNameHasASlashIsAnother() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["one"])
        for arguments in [["--group", "g", "--event", "changed"], ["--group", "g/changed", "ev.pusher.*.changed"]] {
            let run = try scene.run(
                ["consume", "--since", "all", "--count", "1", "--raw", "--timeout", "30"] + arguments)
            #expect(await run.status() == 0, "\(run.errors)")
            #expect(run.output == ["one"])
        }
    }

    @Test(arguments: [[], ["ev.pusher.*.changed"], [">"], ["--event", "changed"], ["--channel", "price"]])
    func deadLettersOfAGroupArePrinted(reading: [String]) async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["poison", "venom"])
        // Dead letters of another group do not belong to it.
        for group in ["other", "g"] {
            let run = try scene.run(
                ["consume", "--group", group, "--since", "all", "--dead-after", "1", "--exec", "exit 1"] + reading)
            let expected = group == "g" ? 4 : 2
            #expect(
                await eventually { (try? await scene.connection.streamStatus("DEAD"))??.messages == UInt64(expected) })
            run.interrupt()
            _ = await run.status()
        }
        let letters = try scene.run(
            ["consume", "--group", "g", "--dead-letters", "--count", "2", "--raw", "--timeout", "30"] + reading)
        #expect(await letters.status() == 0, "\(letters.errors)")
        #expect(letters.output == ["poison", "venom"])
    }

    @Test func aCommandThatRunsAtTheInterruptIsFinishedAndItsEventAcknowledged() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["one", "two"])
        let gate = Gate()
        let run = try scene.run([
            "consume", "--group", "g", "--since", "all",
            "--exec", "echo began; while [ ! -e \(gate.path) ]; do sleep 0.01; done; cat; echo",
        ])
        #expect(await run.waitFor { $0 == ["began"] })
        run.interrupt()
        #expect(await eventually { run.errors.contains("waiting for 1 command") })
        gate.open()
        #expect(await run.status() == 0)
        #expect(run.output == ["began", "one"])
        // The event that did not begin was returned.
        let next = try scene.run(["consume", "--group", "g", "--count", "1", "--raw", "--timeout", "25"])
        #expect(await next.status() == 0)
        #expect(next.output == ["two"])
    }

    @Test func aCommandThatIsEndedByASecondInterruptGivesItsEventBack() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["one"])
        let run = try scene.run([
            "consume", "--group", "g", "--since", "all", "--exec", "echo began; sleep 1000",
        ])
        #expect(await run.waitFor { $0 == ["began"] })
        run.interrupt()
        #expect(await eventually { run.errors.contains("waiting for 1 command") })
        run.interrupt()
        #expect(await run.status() == 130)
        let next = try scene.run(["consume", "--group", "g", "--count", "1", "--raw", "--timeout", "25"])
        #expect(await next.status() == 0)
        #expect(next.output == ["one"])
    }

    @Test func aHangingCommandKeepsItsEventAndNoOther() async throws {
        let scene = try await RelayScene.start()
        let arguments = ["consume", "--group", "g", "--since", "all", "--ack-wait", "1"]
        let hanging = try scene.run(arguments + ["--exec", "echo began; sleep 1000"])
        try await scene.publish(["one"])
        #expect(await hanging.waitFor { $0 == ["began"] })
        #expect(await eventually { hanging.errors.contains { $0.contains("is still running") } })
        try await scene.publish(["two", "three"])
        let other = try scene.run(arguments + ["--raw", "--count", "2"])
        #expect(await other.status() == 0)
        #expect(Set(other.output) == ["two", "three"])
        #expect(hanging.output == ["began"])
        hanging.interrupt()
        #expect(await eventually { hanging.errors.contains("waiting for 1 command") })  // two at once count as one
        hanging.interrupt()
        #expect(await hanging.status() == 130)
    }

    // MARK: Output

    @Test func gapsArePrintedWithTheirReason() async throws {
        let scene = try await RelayScene.start()
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        try await scene.publishGap(start: start, end: start + 20)
        try await scene.publish(["one"])
        let run = try scene.run(["consume", "--since", "all", "--json", "--count", "1"])
        #expect(await run.status() == 0)
        let gap = try object(run.output.first)
        #expect(gap["type"] as? String == "gap")
        #expect(gap["channel"] as? String == "price")
        #expect(gap["from"] as? String == "2023-11-14T22:13:20.000Z")
        #expect(gap["to"] as? String == "2023-11-14T22:13:40.000Z")
        #expect(gap["reason"] as? String == "takeover")
        let text = try scene.run(["consume", "--since", "all", "--count", "1"])
        #expect(await text.status() == 0)
        #expect(text.output.first?.contains("price") == true)
        #expect(text.output.first?.contains("(takeover)") == true)
    }

    @Test func theTimeIsThatOfTheEvent() async throws {
        let scene = try await RelayScene.start()
        try await scene.publish(["one"], time: Date(timeIntervalSince1970: 1_700_000_000))
        let run = try scene.run(["consume", "--since", "all", "--json", "--count", "1"])
        #expect(await run.status() == 0)
        #expect(try object(run.output.first)["time"] as? String == "2023-11-14T22:13:20.000Z")
        let command = try scene.run(["consume", "--since", "all", "--count", "1", "--exec", "echo $PUSHER_TIME"])
        #expect(await command.status() == 0)
        #expect(command.output == ["2023-11-14T22:13:20.000Z"])
    }

    // MARK: Invalid use

    @Test func aStreamThatIsMissingEndsTheCommand() async throws {
        let scene = try await RelayScene.start(hasStreams: false)
        let run = try scene.run(["consume"])
        #expect(await run.status() == 69)
        #expect(run.errors.last == "error: there is no stream EVENTS: create it with pusher-cli relay setup")
    }

    @Test(
        arguments: [
            (["--source", "foo"], "--source"), (["--group", ""], "--group"), (["--channel", ""], "--channel"),
            (["--event", ""], "--event"), (["ev.a b"], "subject"), (["ev..x"], "subject"), (["other.>"], "prefix"),
            (["--since", "yesterday"], "--since"), (["--stream", "KV_RELAY"], "--stream"),
            (["--stream", "a b"], "--stream"),
            (["--prefix", "a.b"], "--prefix"), (["--dead-after", "3"], "--group"),
            (["--group", "g", "--exec", "x", "--dead-after", "0"], "--dead-after"), (["--ack-wait", "5"], "--group"),
            (["--dead-letters"], "--group"), (["--group", "g", "--dead-letters", "--ack-wait", "5"], "--ack-wait"),
        ] as [([String], String)])
    func whatCannotWorkIsWrongUse(arguments: [String], name: String) async throws {
        let run = try CommandRun(["consume"] + arguments, environment: ["NATS_URL": "nats://127.0.0.1:1"])
        #expect(await run.status() == 64)
        #expect(run.errors.first?.contains(name) == true, "\(run.errors)")
    }
}
