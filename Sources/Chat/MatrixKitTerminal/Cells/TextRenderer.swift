import Foundation
import MatrixKit
import TerminalUI

/// Lays out text as terminal lines. Untrusted text is sanitised here.
struct TextRenderer {
    let theme: MXKTheme
    let profile: WidthProfile
    /// Whether to show spoilers.
    var revealsSpoilers = false
    /// Whether to show emoji as their names, for terminals and screen readers that do not support them.
    var namesEmoji = false

    private static let quoteMark = "▎ "
    private static let bullets = ["• ", "◦ ", "▪ "]
    /// The maximum number of lines of a text.
    static let maximumLines = 4000
    /// The maximum length of a link, in bytes.
    private static let maximumLink = 4096

    /// Returns lines that are at most `columns` wide.
    func lines(_ text: MXKText, columns: Int, anchor: String? = nil) -> [TerminalLine] {
        var lines: [TerminalLine] = []
        for block in text.blocks where lines.count <= Self.maximumLines {
            lines += self.lines(block, text.color, columns: columns, anchor: anchor).prefix(Self.maximumLines + 1)
        }
        guard lines.count > Self.maximumLines else { return lines }
        lines.removeLast(lines.count - Self.maximumLines)
        let rest = StyledText("… the rest is too long to be shown", theme.style(.hint))
        return lines + [TerminalLine(rest, profile, anchor: anchor).truncated(to: columns)]
    }

    /// Returns the text on one line, with line breaks as spaces.
    func line(_ text: MXKText) -> StyledText {
        var result = StyledText()
        for (index, block) in text.blocks.enumerated() {
            if index > 0 { result.append(" ") }
            if block.quoteDepth > 0 { result.append(Self.quoteMark, theme.style(.quote)) }
            var runs = block.runs
            if case .row(let cells) = block.kind { runs = cells.flatMap { $0 + [MXKText.Run(" ")] } }
            for run in styled(runs, theme.style(of: text.color)).runs {
                result.append(StyledText.Run(run.text.replacing("\n", with: " "), run.style, link: run.link))
            }
        }
        return result
    }

    private func lines(
        _ block: MXKText.Block, _ color: MXKText.ColorRole, columns: Int, anchor: String?
    ) -> [TerminalLine] {
        var base = theme.style(of: color)
        var marks = StyledText()
        for _ in 0..<min(block.quoteDepth, 4) { marks.append(Self.quoteMark, theme.style(.quote)) }
        if block.quoteDepth > 0 { base = base.merging(theme.style(.quote)) }
        let indent = StyledText(String(repeating: "  ", count: min(block.listDepth, 6)))
        let layout = TextLayout(columns: columns, profile, maximumLines: Self.maximumLines + 1)
        switch block.kind {
        case .paragraph:
            return layout.lines(styled(block.runs, base), first: marks + indent, rest: marks + indent, anchor: anchor)
        case .heading:
            base.flags.insert(.bold)
            return layout.lines(styled(block.runs, base), first: marks, rest: marks, anchor: anchor)
        case .item(let ordinal):
            let bullet = ordinal.map { "\($0). " } ?? Self.bullets[min(block.listDepth, Self.bullets.count - 1)]
            let hang = StyledText(String(repeating: " ", count: profile.width(of: bullet)))
            return layout.lines(
                styled(block.runs, base), first: marks + indent + StyledText(bullet, base), rest: marks + indent + hang,
                anchor: anchor)
        case .code:
            let style = base.merging(theme.style(.code))
            return codeLines(styled(block.runs, style)).prefix(Self.maximumLines + 1).map { line in
                TerminalLine(marks + line, profile, anchor: anchor).truncated(to: columns)
            }
        case .rule:
            let width = max(columns - marks.width(profile), 1)
            let rule = StyledText(String(repeating: "─", count: width), theme.style(.border))
            return [TerminalLine(marks + rule, profile, anchor: anchor).truncated(to: columns)]
        case .row(let cells): return rowLines(cells, base, marks, columns: columns, anchor: anchor)
        }
    }

    /// Keeps the lines of code.
    private func codeLines(_ text: StyledText) -> [StyledText] {
        var lines = [StyledText()]
        for run in text.runs {
            for (index, part) in run.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                if index > 0 { lines.append(StyledText()) }
                lines[lines.count - 1].append(StyledText.Run(String(part), run.style, link: run.link))
            }
        }
        return lines
    }

    /// Returns table columns if they fit, otherwise one cell per line.
    private func rowLines(
        _ cells: [[MXKText.Run]], _ base: TerminalStyle, _ marks: StyledText, columns: Int, anchor: String?
    ) -> [TerminalLine] {
        let texts = cells.map { styled($0, base) }
        let room = columns - marks.width(profile)
        var row = marks
        for (index, text) in texts.enumerated() {
            if index > 0 { row.append(" │ ", theme.style(.border)) }
            row += text
        }
        if row.width(profile) <= room, !row.text.contains("\n") { return [TerminalLine(row, profile, anchor: anchor)] }
        let layout = TextLayout(columns: columns, profile, maximumLines: Self.maximumLines + 1)
        return texts.enumerated().flatMap { index, text in
            layout.lines(text, first: marks + StyledText(index == 0 ? "" : "  "), anchor: anchor)
        }
    }

    private func styled(_ runs: [MXKText.Run], _ base: TerminalStyle) -> StyledText {
        var text = StyledText()
        for run in runs {
            let cleaned = namesEmoji ? EmojiNames.inWords(ScreenText.cleaned(run.text)) : ScreenText.cleaned(run.text)
            let style = self.style(run.style, base)
            guard run.style.spoiler == nil || revealsSpoilers else {
                let reason = run.style.spoiler.map { $0.isEmpty ? "spoiler" : ScreenText.cleanedName($0) } ?? ""
                text.append("▒ \(reason) ▒", theme.style(.spoiler))
                continue
            }
            // A truncated link would lead elsewhere.
            let address = run.style.link?.absoluteString
            let link = address.flatMap { $0.utf8.count > Self.maximumLink ? nil : ScreenText.cleanedName($0) }
            text.append(StyledText.Run(cleaned, style, link: link))
        }
        return text
    }

    private func style(_ style: MXKText.Style, _ base: TerminalStyle) -> TerminalStyle {
        var result = base
        if style.isCode { result = result.merging(theme.style(.code)) }
        if style.link != nil { result = result.merging(theme.style(.link)) }
        if let color = style.color { result = result.merging(theme.style(of: color)) }
        if let color = style.background {
            if color == .bing {
                result = result.merging(theme.style(.highlight))
            } else {
                result.background = theme.style(of: color).foreground
            }
        }
        if style.isBold { result.flags.insert(.bold) }
        if style.isItalic { result.flags.insert(.italic) }
        if style.isUnderlined { result.flags.insert(.underline) }
        if style.isStruck { result.flags.insert(.strike) }
        return result
    }
}
