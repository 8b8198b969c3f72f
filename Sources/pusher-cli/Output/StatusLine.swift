import Foundation

/// One line on a terminal's standard error that is written over and over; nothing anywhere else.
enum StatusLine {
    static let isShown = isatty(2) == 1

    static func show(_ text: TerminalText) {
        if isShown { StandardError.write("\r\u{1B}[K\(text.text)".utf8) }
    }

    static func erase() { show("") }
}
