import Basics

/// The progress of a transfer on the terminal.
package final class TransferLine: Sendable {
    private let shown = Lock<Int64?>(nil)

    package init() {}

    /// - Parameters:
    ///   - completed: The number of bytes transferred.
    ///   - total: The total number of bytes; `nil` if unknown.
    ///   - label: The name of the transfer.
    package func show(_ completed: Int64, of total: Int64?, _ label: String) {
        guard StatusLine.isShown else { return }
        let percent = total.flatMap { $0 > 0 ? min(completed * 100 / $0, 100) : nil }
        let isNew = shown.withLock { shown in
            let step = percent ?? completed >> 16
            defer { shown = step }
            return shown != step
        }
        guard isNew else { return }
        StatusLine.show("\(Self.text(label, completed: completed, percent: percent))")
    }

    /// Returns a line such as `photo.jpg  [##########          ]  50 %`.
    package static func text(_ label: String, completed: Int64, percent: Int64?) -> String {
        guard let percent else { return "\(label)  \(completed) bytes" }
        let done = Int(percent / 5)
        let bar = String(repeating: "#", count: done) + String(repeating: " ", count: 20 - done)
        return "\(label)  [\(bar)]  \(percent) %"
    }

    /// Erases the line, if shown; the next one may be for another transfer.
    package func erase() {
        let wasShown = shown.withLock { shown in
            defer { shown = nil }
            return shown != nil
        }
        if wasShown { StatusLine.erase() }
    }
}
