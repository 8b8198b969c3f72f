import TerminalUI
import Testing

@testable import CommandKit
@testable import PusherCommands

/// Words, instructions and completion.
struct ShellLanguageTests {
    @Test(
        arguments: [
            ("", []), ("  ", []), ("a b", ["a", "b"]), (" a\t b ", ["a", "b"]), ("'a b' c", ["a b", "c"]),
            (#""a \"b\" \\ \n""#, [#"a "b" \ \n"#]), (#"a\ b\'c"#, ["a b'c"]), (#"'a\b'"#, [#"a\b"#]), ("''", [""]),
            (#"a'b'"c"d"#, ["abcd"]), (#"trigger c e '{"a": "日"}'"#, ["trigger", "c", "e", #"{"a": "日"}"#]),
            ("'\u{301}a'", ["\u{301}a"]),
        ] as [(String, [String])])
    func words(line: String, words: [String]) throws {
        #expect(try ShellWords.split(line) == words)
    }

    @Test(arguments: [("'a", "another ' is missing"), (#""a\""#, "another \" is missing"), (#"a\"#, "nothing follows")])
    func wordsThatDoNotEnd(line: String, message: String) {
        let error = #expect(throws: CommandFailure.self) { try ShellWords.split(line) }
        #expect(error?.description.contains(message) == true)
    }

    @Test(
        arguments: [
            ("subscribe a private-b", .subscribe(["a", "private-b"])), ("unsubscribe a", .unsubscribe(["a"])),
            ("trigger c e '{}'", .trigger(channel: "c", event: "e", data: "{}")),
            ("trigger c e ''", .trigger(channel: "c", event: "e", data: "")),
            (#"trigger c e {"a":1}"#, .trigger(channel: "c", event: "e", data: #"{"a":1}"#)),
            (
                #" trigger 'c' e\ f  {"a": "it's # \n"}  "#,
                .trigger(channel: "c", event: "e f", data: #"{"a": "it's # \n"}"#)
            ),
            (#"trigger c e [1, "two"]"#, .trigger(channel: "c", event: "e", data: #"[1, "two"]"#)),
            ("trigger c e {a:1}", .trigger(channel: "c", event: "e", data: "{a:1}")),
            (#"trigger c e "two words""#, .trigger(channel: "c", event: "e", data: "two words")),
            (#"trigger c e '{"a":1}'"#, .trigger(channel: "c", event: "e", data: #"{"a":1}"#)),
            ("exit", .quit), ("help exit", .help(.quit)),
            ("members presence-x", .members(channel: "presence-x", user: nil)),
            ("members presence-x ann", .members(channel: "presence-x", user: "ann")), ("channels", .channels),
            (" status ", .status), ("sign-in", .signIn), ("connect", .connect), ("disconnect", .disconnect),
            ("help", .help(nil)), ("help trigger", .help(.trigger)), ("quit", .quit), ("", nil),
            ("  # subscribe 'a", nil),
        ] as [(String, ShellInstruction?)])
    func instructions(line: String, instruction: ShellInstruction?) throws {
        #expect(try ShellInstruction(line) == instruction)
    }

    @Test(arguments: [
        ("subscribe", "usage: subscribe CHANNEL..."), ("trigger a b", "usage: trigger CHANNEL EVENT DATA"),
        ("trigger a b c d", "usage: trigger"), ("trigger a b {} c", "usage: trigger"),
        ("quit now", "quit takes no arguments"), ("status x", "status takes no arguments"),
        ("hello", "“hello” is not a command; help lists them"), ("help me", "“me” is not a command"),
        ("''", "“” is not a command"),
    ])
    func whatIsNoInstruction(line: String, message: String) {
        let error = #expect(throws: CommandFailure.self) { try ShellInstruction(line) }
        #expect(error?.description.hasPrefix(message) == true)
        #expect(error?.exitStatus == .badData)
    }

    @Test func helpFitsEightyColumns() {
        let pages =
            ShellAnswer.help(nil).text(width: nil)
            + ShellVerb.allCases.flatMap {
                ShellAnswer.help($0).text(width: nil)
            }
        for line in pages { #expect(WidthProfile.unicode.width(of: line.text) <= 80, "\(line.text)") }
    }

    private static let vocabulary = ShellVocabulary(
        channels: ["presence-room", "private-a", "private-b", "prices"],
        events: ["prices": ["price up", "price \"x\"", "\u{1B}[2J", "日本"], "private-a": ["client-a"]],
        members: ["presence-room": ["ann", "anna", "bob"]])

    @Test(
        arguments: [
            ("su", "subscribe ", []), ("un", "unsubscribe ", []), ("c", "c", ["channels", "connect"]), ("x", "x", []),
            ("", "", ShellVerb.allCases.map(\.rawValue).sorted()), ("help tr", "help trigger ", []),
            ("unsubscribe pri", "unsubscribe pri", ["prices", "private-a", "private-b"]),
            ("unsubscribe priv", "unsubscribe private-", ["private-a", "private-b"]),
            ("unsubscribe private-a ", "unsubscribe private-a pr", ["presence-room", "prices", "private-b"]),
            ("trigger pric", "trigger prices ", []), ("trigger 'pric", "trigger 'prices' ", []),
            ("trigger prices ", "trigger prices ", ["price \"x\"", "price up", "日本"]),
            ("trigger prices pr", "trigger prices price\\ ", ["price \"x\"", "price up"]),
            ("trigger prices \"price \"", "trigger prices \"price \"", ["price \"x\"", "price up"]),
            (#"trigger prices "price \""#, #"trigger prices "price \"x\"" "#, []),
            ("trigger prices price\\ u", "trigger prices price\\ up ", []),
            ("trigger prices 日", "trigger prices 日本 ", []),
            ("trigger none ", "trigger none ", []), ("trigger prices e ", "trigger prices e ", []),
            ("members p", "members presence-room ", []),
            ("members presence-room a", "members presence-room ann", ["ann", "anna"]),
            ("members presence-room anna", "members presence-room anna ", []), ("quit ", "quit ", []),
            ("trigger prices price\\", "trigger prices price\\", []),
        ] as [(String, String, [String])])
    func completion(typed: String, text: String, candidates: [String]) {
        let completion = Self.vocabulary.complete(typed)
        #expect(completion.text == text)
        #expect(completion.candidates == candidates)
    }

    @Test func tabCompletesBeforeTheCursorOnly() {
        var editor = LineEditor()
        _ = editor.handle(.text("un private-a"))
        for _ in 0..<10 { _ = editor.handle(.left) }
        #expect(editor.handle(.tab, complete: Self.vocabulary.complete) == .edited)
        #expect(editor.before == "unsubscribe " && editor.after == " private-a")
        _ = editor.handle(.control("u"))
        _ = editor.handle(.control("k"))
        _ = editor.handle(.text("c"))
        #expect(editor.handle(.tab, complete: Self.vocabulary.complete) == .listed(["channels", "connect"]))
    }
}
