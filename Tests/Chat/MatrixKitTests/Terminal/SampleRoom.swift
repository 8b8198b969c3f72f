import Foundation
import MatrixKitTerminal
import MatrixProtocol
import TerminalUI
import TestSupport

@testable import MatrixKit

/// A room with everything that is hard to lay out, each under a name.
@MainActor
struct SampleRoom {
    let story: Story
    let script: BubbleScript
    let names: [String]

    /// Saturday 21 November 2020, 9:00 UTC.
    static let morning: UInt64 = 1_605_949_200_000

    private nonisolated static let texts: [(name: String, content: String)] = [
        ("plain", Story.text("Has anybody seen the build? It is red since yesterday and nobody looked.")),
        ("long word", Story.text("x" + String(repeating: "abcdefghij", count: 14) + " end")),
        ("address", Story.text("see https://example.org/a/very/long/path?with=a&query=and#a-fragment and @carol:s.")),
        ("CJK", Story.text("日本語の文章は空白なしで折り返します。漢字とかなの幅は二つ分です。")),
        ("emoji", Story.text("👍🏽 👨‍👩‍👧 ❤️ 🇩🇪 1️⃣ é 한 กำ क्षि ｱ ⌛ end")),
        ("right to left", Story.text("שלום עולם and مرحبا \u{202E}evil\u{202C} end")),
        ("zalgo", Story.text("z" + String(repeating: "\u{301}", count: 50) + "algo")),
        ("control characters", Story.text("a\u{1B}[2Jb\u{7}c\u{9B}d\u{2028}e\tf\u{200B}g")),
        ("lines", Story.text("one\n\nthree\r\nfour")),
        (
            "formatted",
            Story.html(
                "<h2>Title</h2><p><b>bold</b> <i>slanted</i> <code>code</code></p><ul><li>one<ul><li>inner item that is longer "
                    + "than a narrow line</li></ul></li><li>two</li></ul><blockquote>quoted words, which are wrapped too</blockquote>"
            )
        ),
        (
            "code",
            Story.html(
                "<pre><code class=\"language-swift\">func f() {\n    return a_very_long_name + another_very_long_name + yet_another_one\n}</code></pre>"
            )
        ),
        (
            "table",
            Story.html(
                "<table><tr><th>name</th><th>value</th></tr><tr><td>first</td><td>a longer cell with some words</td></tr></table>"
            )
        ),
        ("spoiler", Story.html("it was <span data-mx-spoiler=\"plot\">the gardener</span>")),
        ("picture", Story.image()),
        ("picture's long name", Story.image(String(repeating: "name-", count: 40) + ".png")),
        ("notice", Story.text("a notice of a bot", "m.notice")), ("emote", Story.text("waves", "m.emote")),
    ]

    init(change: (MXKRoomDataSource) -> Void = { _ in }) throws {
        var story = try Story(at: SampleRoom.morning)
        var names = ["long name"]
        try story.member("@b:s", name: String(repeating: "名前 name ", count: 25))
        for (index, (name, content)) in Self.texts.enumerated() {
            story.wait(60)
            try story.add("m.room.message", index == 0 ? "@b:s" : index % 3 == 1 ? "@a:s" : "@c:s", content)
            names.append(name)
        }
        story.wait(86_400)
        for number in 0..<3 { try story.member("@j\(number):s", name: "J\(number)") }
        try story.say("the next day", "@c:s")
        names += ["joins", "joins", "joins", "next day"]
        let script = BubbleScript(change)
        script.live(story)
        (self.story, self.script, self.names) = (story, script, names)
    }

    static func lines(_ bubble: MXKRoomBubbleCellData, columns: Int, theme: MXKTheme = .dark) -> [TerminalLine] {
        let cell = MXKTerminalBubbleCell()
        cell.render(bubble)
        return cell.lines(MXKCellLayout(columns: columns, theme: theme))
    }
}
