import CommandKit
import Foundation
import JSONBytes
import MatrixKit
import MatrixKitTerminal
import TerminalUI

/// An event or another record in the list.
@MainActor
final class WatchEventCellData: MXKCellData {
    let number: Int
    let time: Date
    let channel: String
    let name: String
    let detail: String
    let isError: Bool
    /// The approximate size in bytes.
    let size: Int

    init(number: Int, _ record: Record, at time: Date) {
        self.number = number
        self.time = time
        (channel, name, detail) = record.columns
        if case .error = record { isError = true } else { isError = false }
        size = channel.utf8.count + name.utf8.count + detail.utf8.count + 256
        super.init()
    }

    /// Returns whether all these words occur in the record.
    func fits(_ words: [Substring]) -> Bool {
        words.allSatisfy { word in
            [channel, name, detail].contains { $0.range(of: word, options: .caseInsensitive) != nil }
        }
    }

    /// The detail, on several lines if it is JSON.
    var pretty: String { PrettyJSON.text(detail) ?? detail }
}

/// A channel in the list, with its event rate.
@MainActor
final class WatchChannelCellData: MXKCellData {
    let name: String
    private(set) var count = 0
    /// The user ids of a presence channel, in order.
    var members: [String] = []
    /// The number of events in each of the last seconds, newest last.
    private(set) var rates: [Int] = []
    private var lastSecond = 0
    static let seconds = 30

    init(_ name: String) {
        self.name = name
        super.init()
    }

    func note(at time: Date) {
        count += 1
        advance(to: time)
        if !rates.isEmpty { rates[rates.count - 1] += 1 }
    }

    /// Advances the time and discards rates that are too old.
    func advance(to time: Date) {
        let second = Int(time.timeIntervalSince1970)
        guard second != lastSecond || rates.isEmpty else { return }
        let passed = lastSecond == 0 ? 1 : min(max(second - lastSecond, 0), Self.seconds)
        rates += Array(repeating: 0, count: passed)
        rates = Array(rates.suffix(Self.seconds))
        lastSecond = max(second, lastSecond)
    }

    /// Whether there were events in the visible seconds.
    var isMoving: Bool { rates.contains { $0 > 0 } }

    /// Returns a chart such as `▁▃█` of the last seconds.
    func sparkline(width: Int) -> String {
        let signs = Array("▁▂▃▄▅▆▇█")
        let shown = rates.suffix(width)
        let highest = max(shown.max() ?? 0, 1)
        let line = shown.map { $0 == 0 ? " " : String(signs[min($0 * (signs.count - 1) / highest, signs.count - 1)]) }
        return String(repeating: " ", count: max(width - shown.count, 0)) + line.joined()
    }
}

@MainActor
final class WatchEventCell: MXKTerminalBaseCell {
    override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        guard let event = renderedCellData() as? WatchEventCellData else { return [] }
        let theme = layout.theme
        var text = StyledText(layout.columns < 60 ? "" : Record.clock(event.time) + "  ", theme.style(.time))
        text.append(ScreenText.cleanedName(event.channel), theme.name(of: event.channel))
        text.append("  ")
        text.append(ScreenText.cleanedName(event.name), event.isError ? theme.style(.error) : theme.style(.title))
        text.append("  ")
        text.append(ScreenText.cleanedName(event.detail))
        return [TerminalLine(text, layout.profile, anchor: String(event.number)).truncated(to: layout.columns)]
    }
}

@MainActor
final class WatchChannelCell: MXKTerminalBaseCell {
    override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        guard let channel = renderedCellData() as? WatchChannelCellData else { return [] }
        let count = " \(channel.count)"
        let name = TerminalLine(StyledText(ScreenText.cleanedName(channel.name)), layout.profile)
        var first = name.truncated(to: max(layout.columns - count.count, 1))
        first.pad(to: layout.columns - count.count)
        first.append(StyledText(count, layout.theme.style(.hint)), layout.profile)
        let spark = channel.sparkline(width: max(layout.columns - 2, 1))
        return [first, TerminalLine(StyledText("  " + spark, layout.theme.style(.online)), layout.profile)]
    }
}
