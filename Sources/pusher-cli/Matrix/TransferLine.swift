import MatrixSDK
import Transport

/// A transfer's progress on the terminal.
final class TransferLine: Sendable {
    private let shown = Lock<Int64?>(nil)

    /// - Parameter label: What is transferred.
    func show(_ progress: MXTransferProgress, _ label: String) {
        guard StatusLine.isShown else { return }
        let percent = progress.total.flatMap { $0 > 0 ? min(progress.completed * 100 / $0, 100) : nil }
        let isNew = shown.withLock { shown in
            let step = percent ?? progress.completed >> 16
            defer { shown = step }
            return shown != step
        }
        guard isNew else { return }
        StatusLine.show(Self.text(label, completed: progress.completed, percent: percent))
    }

    /// `photo.jpg  [##########          ]  50 %`
    static func text(_ label: String, completed: Int64, percent: Int64?) -> String {
        guard let percent else { return "\(label)  \(completed) bytes" }
        let done = Int(percent / 5)
        let bar = String(repeating: "#", count: done) + String(repeating: " ", count: 20 - done)
        return "\(label)  [\(bar)]  \(percent) %"
    }

    func erase() {
        if StatusLine.isShown { StatusLine.erase() }
    }
}
