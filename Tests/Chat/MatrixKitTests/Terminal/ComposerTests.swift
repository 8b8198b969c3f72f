import Foundation
import TerminalUI
import Testing

@testable import MatrixKitTerminal

/// The editor for messages.
@MainActor
struct ComposerTests {
    private final class Sent: MXKRoomInputToolbarViewDelegate {
        var texts: [String] = []
        var typing: [Bool] = []

        func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, sendTextMessage text: String) {
            texts.append(text)
        }

        func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool) { typing.append(isTyping) }
    }

    private func type(_ text: String, into composer: MXKRoomInputToolbarView) {
        var parser = InputParser()
        for input in parser.parse(text.utf8) + parser.flush() { _ = composer.handle(input) }
    }

    // MARK: Commands

    @Test(
        arguments: [
            ("/topic a b ", "topic", "a b "), ("/ME waves", "me", "waves"), ("/part", "part", ""),
            ("/kick  @a:s  too loud", "kick", "@a:s  too loud"),
        ] as [(String, String, String)])
    func commands(text: String, name: String, rest: String) throws {
        let command = try #require(MXKCommand(text))
        #expect(command.name == name && command.rest == rest)
    }

    @Test(arguments: ["//x", "/", "/ x", "text", "/etc/passwd", " /me", "/1"])
    func whatIsNoCommandIsText(text: String) { #expect(MXKCommand(text) == nil) }

    @Test func aWrongCommandSaysHowItIsUsed() throws {
        #expect(try #require(MXKCommand("/op @a:s")).problem() == "Usage: /op user level")
        #expect(try #require(MXKCommand("/nonsense")).problem()?.hasPrefix("There is no command /nonsense.") == true)
        #expect(try #require(MXKCommand("/kick @a:s too loud")).problem() == nil)
        #expect(try #require(MXKCommand("/kick @a:s too loud")).afterFirstWord == "too loud")
        #expect(Set(MXKCommand.known.map(\.name)).count == MXKCommand.known.count)
    }

    // MARK: Completion

    @Test func tabGoesThroughWhatFits_andEscapeTakesItBack() {
        let composer = MXKRoomInputToolbarView()
        composer.completions = { before in
            before.hasSuffix("a") ? ["ada ", "alan ", "anna "].map { MXKCompletion($0) } : []
        }
        type("hi a\t", into: composer)
        #expect(composer.textMessage == "hi ada ")
        type("\t", into: composer)
        #expect(composer.textMessage == "hi alan ")
        #expect(composer.height(columns: 40) == 4)
        type("\u{1B}[Z\u{1B}[Z", into: composer)
        #expect(composer.textMessage == "hi anna ")
        _ = composer.handle(.escape)
        #expect(composer.textMessage == "hi a")
        type("\t!", into: composer)
        #expect(composer.textMessage == "hi ada !")
        type("\t", into: composer)
        #expect(composer.textMessage == "hi ada !")
    }

    @Test func whatIsEnteredIsSentOnce_andWritingIsTold() {
        let (composer, sent) = (MXKRoomInputToolbarView(), Sent())
        composer.delegate = sent
        type("one\u{A}two\r  \r", into: composer)
        #expect(sent.texts == ["one\ntwo"])
        #expect(sent.typing.first == true && sent.typing.last == false || sent.typing.count > 1)
        type("/join #a", into: composer)
        #expect(sent.typing.last == false)
    }

    @Test func escapeLeavesAReply_andAnEditWithItsText() {
        let composer = MXKRoomInputToolbarView()
        composer.mode = .reply(eventId: "$1", to: "Ada")
        composer.textMessage = "words"
        #expect(composer.handle(.escape))
        #expect(composer.mode == .message && composer.textMessage == "words")
        composer.mode = .edit(eventId: "$1")
        #expect(composer.handle(.escape))
        #expect(composer.mode == .message && composer.textMessage.isEmpty)
        #expect(!composer.handle(.escape))
    }

    @Test func anEditKeepsWhatWasWritten_andGivesItBack() {
        let (composer, sent) = (MXKRoomInputToolbarView(), Sent())
        composer.delegate = sent
        composer.textMessage = "half a thought"
        composer.beginEdit(of: "$1", text: "old")
        #expect(composer.draft == "half a thought" && composer.textMessage == "old")
        _ = composer.handle(.escape)
        #expect(composer.textMessage == "half a thought" && composer.mode == .message)
        composer.beginEdit(of: "$1", text: "old")
        type(" new\r", into: composer)
        #expect(sent.texts == ["old new"])
        #expect(composer.textMessage == "half a thought" && composer.mode == .message)
    }

    @Test func whatCouldNotBeSentWaitsForAnEmptyLine() {
        let composer = MXKRoomInputToolbarView()
        composer.textMessage = "something else"
        #expect(!composer.giveBack("answer", .reply(eventId: "$1", to: "Ada")))
        #expect(composer.textMessage == "something else")
        composer.textMessage = ""
        #expect(composer.giveBack("answer", .reply(eventId: "$1", to: "Ada")))
        #expect(composer.textMessage == "answer" && composer.mode == .reply(eventId: "$1", to: "Ada"))
    }

    @Test func itGrowsWithTheText_andTheCursorStaysInIt() {
        let composer = MXKRoomInputToolbarView()
        for columns in [4, 10, 40] {
            for count in 0..<60 {
                composer.textMessage = String(repeating: "日x ", count: count)
                let surface = composer.draw(columns: columns, theme: .plain)
                #expect(surface.rows == composer.height(columns: columns))
                #expect(surface.rows <= MXKRoomInputToolbarView.maximumLines)
                let cursor = surface.cursor
                #expect(cursor.map { (0..<columns).contains($0.column) && (0..<surface.rows).contains($0.row) } == true)
            }
        }
    }

    // MARK: Typing

    @Test func othersAreToldAtTheFirstKey_andEveryTenSeconds() {
        var (notice, start) = (TypingNotice(), ContinuousClock.now)
        let begins = [0, 9, 10].map { notice.begins(at: start + .seconds($0)) }
        #expect(begins == [true, false, true])
        let ends = [notice.ends(), notice.ends()]
        #expect(ends == [true, false])
        start += .seconds(11)
        let again = notice.begins(at: start)
        #expect(again)
    }

    // MARK: Files

    @Test func pathsComeAsTerminalsWriteThem() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "drop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "a b.png").path
        try Data("x".utf8).write(to: URL(filePath: file))
        for text in [
            file, "'\(file)'", "\"\(file)\"", file.replacing(" ", with: "\\ "),
            URL(filePath: file).absoluteString + "\n",
        ] {
            #expect(DroppedFile(text)?.path == file, "\(text)")
        }
        for text in ["", "a b.png", folder.path, file + ".other", "words\n\(file)", "file://other/x", "'"] {
            #expect(DroppedFile(text) == nil, "\(text)")
        }
        #expect(DroppedFile.pathAndCaption("\(file) look at this") == (file, "look at this"))
        #expect(DroppedFile.pathAndCaption("/nowhere/x y") == ("/nowhere/x y", nil))
    }

    // MARK: Emoji

    @Test(
        arguments: [
            ("plain", "plain"), ("👍 ok", ":thumbsup: ok"), ("❤️", ":heart:"), ("🦀", ":crab:"), ("日本", "日本"),
            ("👨\u{200D}👩\u{200D}👧", ":man:"),
        ] as [(String, String)])
    func emojiInWords(text: String, words: String) { #expect(EmojiNames.inWords(text) == words) }
}
