import Foundation
import PusherMockServer
import TestSupport
import Testing

/// `--exec`: a process for each event.
@Suite(.overSockets)
struct EventProcessTests {
    private func withRun(
        _ arguments: [String], count: Int?, _ body: (PusherMockServer, CommandRun) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start()
        let run = try CommandRun(
            ["subscribe", "presence-a", "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)"]
                + (count.map { ["--count", "\($0)"] } ?? []) + arguments,
            environment: [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
                "PUSHER_USER_ID": "of the surroundings",
            ])
        #expect(await server.waitFor { $0.channels() == ["presence-a"] })
        do { try await body(server, run) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func eachEventIsGivenToAProcess() async throws {
        let command = #"cat; echo "|$PUSHER_EVENT|$PUSHER_CHANNEL|${PUSHER_USER_ID-nobody}|${PUSHER_TIME%T*}""#
        try await withRun(["--exec", command], count: 2) { server, run in
            await server.publish(event: "$(touch x) `y`", channel: "presence-a", data: #"{"a":"'$HOME"}"#)
            await server.publish(event: "n\0ul", channel: "presence-a", data: HostileText.short)
            #expect(await run.status() == 0)
            let time = try #require(run.output.first?.split(separator: "|").last)
            let first = #"{"a":"'$HOME"}|$(touch x) `y`|presence-a|nobody|"# + time
            let second = HostileText.short + "|n\u{FFFD}ul|presence-a|nobody|" + time
            #expect(run.outputText == "\(first)\n\(second)\n")
            #expect(run.errors == ["listening to presence-a on 127.0.0.1:\(server.port)"])
        }
    }

    /// Processes that wait for a file block everything, and nothing is lost.
    @Test(arguments: [1, 3])
    func aSlowCommandHoldsTheStreamUp(jobs: Int) async throws {
        let gate = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: gate) }
        let command = "echo began; while [ ! -e \(gate.path) ]; do sleep 0.01; done; echo \"$(cat)\""
        let numbers = (0..<40).map(String.init)
        try await withRun(["--exec", command, "--jobs", "\(jobs)"], count: numbers.count) { server, run in
            for number in numbers { await server.publish(event: "e", channel: "presence-a", data: number) }
            #expect(await run.waitFor { $0.count == jobs })
            #expect(run.output == Array(repeating: "began", count: jobs))
            try Data().write(to: gate)
            #expect(await run.status() == 0)
            let told = run.output.filter { $0 != "began" }
            #expect(jobs == 1 ? told == numbers : Set(told) == Set(numbers))
            #expect(run.output.count == 2 * numbers.count)
        }
    }

    @Test func aCommandThatFailsIsReportedAndTheStreamGoesOn() async throws {
        let command = #"read -r word; case $word in 1) exit 3;; 2) kill -9 $$;; esac; echo "$word""#
        try await withRun(["--exec", command], count: 3) { server, run in
            for (number, event) in ["first", "second\nforged", "third"].enumerated() {
                await server.publish(event: event, channel: "presence-a", data: "\(number + 1)\n")
            }
            #expect(await run.status() == 69)
            #expect(run.output == ["3"])
            #expect(run.errors.count == 3)
            #expect(
                run.errors.dropFirst().first?.contains("event “first” of channel presence-a failed with status 3")
                    == true)
            #expect(
                run.errors.last?.contains(#"event “second\nforged” of channel presence-a was ended by signal 9"#)
                    == true)
        }
    }

    @Test func nobodyNeedReadTheData() async throws {
        try await withRun(["--exec", "echo done"], count: 2) { server, run in
            for _ in 0..<2 {
                await server.publish(
                    event: "e", channel: "presence-a", data: String(repeating: "x", count: 500_000))
            }
            #expect(await run.status() == 0)
            #expect(run.output == ["done", "done"])
            #expect(run.errors == ["listening to presence-a on 127.0.0.1:\(server.port)"])
        }
    }

    @Test func processesInheritNeitherDescriptorsNorSignals() async throws {
        let command = "grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd | tr '\\n' ' '"
        try await withRun(["--exec", command], count: 1) { server, run in
            await server.publish(event: "e", channel: "presence-a", data: "")
            #expect(await run.status() == 0)
            let zero = String(repeating: "0", count: 16)
            // glibc's posix_spawn leaves 32 and 33 ignored, the signals that its threads use. The last descriptor is
            // that of the folder itself.
            #expect(run.output == ["SigBlk:\t\(zero)", "SigIgn:\t0000000180000000", "0 1 2 3 "])
        }
    }

    @Test func aCommandThatASignalEndsHasFailed() async throws {
        try await withRun(["--exec", "echo ran; kill -INT $$"], count: 1) { server, run in
            await server.publish(event: "e", channel: "presence-a", data: "1")
            #expect(await run.status() == 69)
            #expect(run.errors.last?.contains("was ended by signal 2") == true)
        }
    }

    /// At a terminal, Ctrl-C goes to the whole process group.
    @Test func ctrlCAtATerminalLetsWhatRunsFinish() async throws {
        let server = try await PusherMockServer.start()
        let gate = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: gate) }
        let command = "echo began; while [ ! -e \(gate.path) ]; do sleep 0.01; done; echo ended"
        let run = try TerminalRun(
            nil,
            ["subscribe", "a", "--exec", command, "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)"],
            environment: ["PUSHER_KEY": PusherMockServer.App.defaultKey])
        #expect(await server.waitFor { $0.channels() == ["a"] })
        await server.publish(event: "e", channel: "a", data: "1")
        #expect(await run.shows("began"))
        try run.type("\u{3}")
        #expect(await run.shows("waiting for 1 command"))
        try Data().write(to: gate)
        #expect(await run.shows("ended"))
        #expect(await run.status() == 0)
        await server.stop()
    }

    /// Including processes that the command started, and those that ignore the polite signals.
    @Test(arguments: [
        ("echo began; sleep 1000; echo ended", 15), ("trap '' INT TERM HUP; echo began; sleep 1000; echo ended", 9),
    ])
    func theSecondSignalEndsWhatRuns(command: String, signal: Int) async throws {
        try await withRun(["--exec", command], count: nil) { server, run in
            await server.publish(event: "e", channel: "presence-a", data: "1")
            #expect(await run.waitFor { $0 == ["began"] })
            run.interrupt()
            #expect(await eventually { run.errors.last == "waiting for 1 command" })
            run.interrupt()
            #expect(await run.status() == 130)
            #expect(run.output == ["began"])
            #expect(run.errors.last?.contains("was ended by signal \(signal)") == true)
        }
    }

    /// In the background, it would be stopped and never end.
    @Test func aCommandHasNoTerminal() async throws {
        let server = try await PusherMockServer.start()
        let run = try TerminalRun(
            nil,
            [
                "subscribe", "a", "--exec", "read x </dev/tty; echo status $?", "--no-tls", "--host", "127.0.0.1",
                "--port", "\(server.port)", "--count", "1",
            ],
            environment: ["PUSHER_KEY": PusherMockServer.App.defaultKey])
        #expect(await server.waitFor { $0.channels() == ["a"] })
        await server.publish(event: "e", channel: "a", data: "1")
        #expect(await run.shows("status 2"))
        #expect(await run.status() == 0)
        await server.stop()
    }

    @Test(arguments: ["", " "])
    func anEmptyCommandIsWrongUse(command: String) async throws {
        let run = try CommandRun(["subscribe", "a", "--exec", command, "--key", "k"])
        #expect(await run.status() == 64)
        #expect(run.errors.first == "error: --exec takes a command")
    }

    @Test func whatRunsIsWaitedForAtTheEnd() async throws {
        let gate = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: gate) }
        let command = "echo began; while [ ! -e \(gate.path) ]; do sleep 0.01; done; echo ended"
        try await withRun(["--exec", command], count: nil) { server, run in
            await server.publish(event: "e", channel: "presence-a", data: "1")
            await server.publish(event: "e", channel: "presence-a", data: "2")
            #expect(await run.waitFor { $0 == ["began"] })
            run.interrupt()
            #expect(await server.waitFor { $0.connectionCount == 0 })
            #expect(await eventually { run.errors.last == "waiting for 1 command" })
            try Data().write(to: gate)
            #expect(await run.status() == 0)
            #expect(run.output == ["began", "ended"])
        }
    }
}
