import Foundation
import TestSupport
import Testing

/// `matrix chat` in a real terminal with a real homeserver, and matrix-nio as the other person.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct ChatInTmuxTests {
    /// A user in an encrypted room with a peer, before the chat starts.
    private struct Scene {
        let ann: CommandUser
        let nio: EncryptedPeer
        let roomId: String
        let terminal: TmuxTerminal

        init(_ homeserver: Homeserver, kind: Homeserver.Peer = .current) async throws {
            ann = try await CommandUser("ann", on: homeserver)
            nio = try await EncryptedPeer("nio", on: homeserver, kind: kind)
            let created = try await ann.output(
                "create", "--name", "Lobby", "--encrypted", "--invite", nio.user.id)
            roomId = try #require(created.first)
            try await nio.perform("join", roomId)
            terminal = try await TmuxTerminal(environment: ann.environment)
        }

        /// Starts the chat, and waits until both sides know each other's devices.
        func start(_ arguments: String = "") async throws {
            try await terminal.type("\(CommandOnHomeserverTests.command) matrix chat \(arguments)")
            try await terminal.press("Enter")
            #expect(await terminal.shows("Lobby"))
            #expect(await terminal.hides("Connecting to"))
            _ = try await nio.send("hello from nio", to: roomId)
            #expect(await terminal.shows("hello from nio"))
        }

        /// The visible numbers of the flood, from the top.
        var numbers: [Int] {
            get async {
                await terminal.lines.compactMap { line in
                    line.range(of: "flood ").map { Int(line[$0.upperBound...].prefix { $0.isNumber }) ?? 0 }
                }
            }
        }

        /// The chat's process.
        var chat: Int32 {
            get async throws {
                let id = await terminal.value("#{pane_pid}")
                let shell = try #require(Int32(id))
                let children = try String(contentsOfFile: "/proc/\(shell)/task/\(shell)/children", encoding: .utf8)
                return try #require(children.split(separator: " ").first.flatMap { Int32($0) })
            }
        }

        func say(_ text: String) async throws {
            try await terminal.type(text)
            try await terminal.press("Enter")
        }
    }

    @Test func messagesEditsReactionsRepliesAndThreadsGoBothWays() async throws {
        let scene = try await Scene(Homeserver(.plain))
        try await scene.start()
        try await scene.say("hello, **nio**")
        let mine = try #require(await scene.nio.heard("hello, **nio**"))
        #expect(await scene.terminal.shows("hello, nio"))
        // The other user's changes to it appear in its place.
        try await scene.nio.perform(
            "event", scene.roomId, "m.reaction",
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"\#(mine)","key":"👍"}}"#)
        #expect(await scene.terminal.shows("👍 1"))
        let theirs = try await scene.nio.send("a typo: teh", to: scene.roomId)
        #expect(await scene.terminal.shows("a typo: teh"))
        try await scene.nio.perform(
            "event", scene.roomId, "m.room.message",
            #"{"msgtype":"m.text","body":"* no typo: the","m.new_content":{"msgtype":"m.text","body":"no typo: the"},"#
                + #""m.relates_to":{"rel_type":"m.replace","event_id":"\#(theirs)"}}"#)
        #expect(await scene.terminal.shows("no typo: the"))
        #expect(await scene.terminal.hides("teh"))
        // The newest message gets a reply, then the user's own message is edited.
        try await scene.terminal.press("C-r")
        try await scene.say("I agree")
        let reply = try #require(await scene.nio.heard("I agree"))
        // A message with a reaction is known as sent here, and can be edited.
        try await scene.nio.perform(
            "event", scene.roomId, "m.reaction",
            #"{"m.relates_to":{"rel_type":"m.annotation","event_id":"\#(reply)","key":"🎉"}}"#)
        #expect(await scene.terminal.shows("🎉 1"))
        try await scene.terminal.press("C-Up")
        #expect(await scene.terminal.shows("I agree"))
        try await scene.say(", really")
        #expect(await scene.nio.heard("* I agree, really") != nil)
        // A thread begins at the selected message, and its messages stay out of the room.
        try await scene.terminal.press("M-Up")
        try await scene.terminal.press("M-t")
        #expect(await scene.terminal.shows("Thread in"))
        try await scene.say("in the thread")
        #expect(await scene.nio.heard("in the thread") != nil)
        try await scene.terminal.press("Escape")
        #expect(await scene.terminal.shows("1 reply"))
        try await scene.nio.perform("redact", scene.roomId, theirs)
        #expect(await scene.terminal.hides("no typo: the"))
        #expect(!reply.isEmpty)
        try await scene.terminal.press("C-c")
        try await scene.terminal.press("C-c")
        #expect(await scene.terminal.isLeft())
    }

    @Test func devicesAreVerifiedByEmoji() async throws {
        let scene = try await Scene(Homeserver(.plain), kind: .libolm)
        try await scene.start()
        try await scene.say("hello")
        #expect(await scene.nio.heard("hello") != nil)
        let devices = try await scene.ann.output("devices", "--json")
        let device = try #require(
            devices.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
                .compactMap { $0["device_id"] as? String }.first)
        try await scene.nio.perform("compare", scene.ann.user.id, device)
        #expect(await scene.terminal.shows("/verify: "))
        try await scene.say("/verify")
        #expect(await scene.terminal.shows("Enter: go on."))
        try await scene.terminal.press("Enter")
        #expect(await scene.terminal.shows("y: they are the same"))
        let emoji = try #require(await scene.nio.comparedEmoji())
        #expect(await scene.terminal.shows(emoji.joined(separator: "   ")))
        try await scene.terminal.type("y")
        #expect(await scene.nio.verifies())
        #expect(await scene.terminal.shows("is verified"))
        try await scene.terminal.press("Enter")
        #expect(await scene.terminal.shows("hello from nio"))
    }

    /// The last lines are right, whatever happens to the terminal meanwhile.
    @Test func aFloodWhileTheTerminalIsResized() async throws {
        let scene = try await Scene(Homeserver(.plain))
        try await scene.start()
        async let resized: Void = {
            for size in [(40, 12), (120, 40), (25, 8), (200, 50), (80, 24)] {
                try await scene.terminal.resize(columns: size.0, rows: size.1)
                try await scene.terminal.type("x")
                try await scene.terminal.press("BSpace")
            }
        }()
        for number in 1...100 { _ = try await scene.nio.send("flood \(number)", to: scene.roomId) }
        try await resized
        #expect(await scene.terminal.shows("flood 100"))
        // The newest messages appear in order above the composer.
        let shown = await scene.numbers
        #expect(shown.count > 5 && shown == Array((101 - shown.count)...100))
        // A page back and forth shows the same lines.
        try await scene.terminal.press("PageUp")
        #expect(await eventually { await scene.numbers.last != 100 })
        try await scene.terminal.press("M-End")
        #expect(await eventually { await scene.numbers == shown })
    }

    @Test func itIsStoppedAndGoesOn_andASignalLeavesTheTerminalAsItWas() async throws {
        let scene = try await Scene(Homeserver(.plain))
        try await scene.start()
        #expect(await scene.terminal.value("#{alternate_on}") == "1")
        try await scene.terminal.press("C-z")
        #expect(await scene.terminal.isLeft())
        _ = try await scene.nio.send("while it was stopped", to: scene.roomId)
        try await scene.say("fg")
        #expect(await scene.terminal.shows("while it was stopped"))
        try await scene.terminal.press("C-z")
        #expect(await scene.terminal.isLeft())
        // In the background it stops itself, and `fg` continues it.
        let chat = try await scene.chat
        @Sendable func status() -> String? { try? String(contentsOfFile: "/proc/\(chat)/stat", encoding: .utf8) }
        @Sendable func isStopped() -> Bool { status()?.contains(") T ") == true }
        try #require(await eventually { isStopped() })
        try await scene.say("bg")
        #expect(await eventually { !isStopped() })
        #expect(await eventually { isStopped() })
        _ = try await scene.nio.send("while it was in the background", to: scene.roomId)
        try await scene.say("fg")
        #expect(await scene.terminal.shows("while it was in the background"))
        try await scene.terminal.press("C-z")
        #expect(await scene.terminal.isLeft())
        // The shell continues a stopped job when terminating it, so the job ends without `fg`. An immediate `wait`
        // might find the job still stopped, and would not wait.
        try await scene.say("kill %1")
        #expect(await eventually { status() == nil })
        // Before its next prompt, the shell reports the job's end: "Done" means status 0.
        try await scene.terminal.press("Enter")
        #expect(await scene.terminal.shows("[1]+  Done "))
        #expect(await scene.terminal.isLeft())
    }

    /// Nothing can restore the terminal then, but the next command does.
    @Test func whenItIsKilledResetIsEnough() async throws {
        let scene = try await Scene(Homeserver(.plain))
        try await scene.start()
        let chat = try await scene.chat
        #expect(kill(chat, SIGKILL) == 0)
        #expect(await eventually { await scene.terminal.lines.contains { $0.contains("Killed") } })
        try await scene.say("tput rmcup; reset; echo usable")
        #expect(await scene.terminal.shows("usable"))
        #expect(await scene.terminal.isLeft())
    }
}
