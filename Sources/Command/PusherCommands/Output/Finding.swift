import CommandKit

/// The result of one step of an examination.
struct Finding: OutputRecord, Sendable {
    let step: String
    let isFine: Bool
    let detail: String
    var took: Duration?

    var json: String {
        var line = JSONLine(type: "check")
        line.add("step", step)
        line.add("ok", json: String(isFine))
        line.add("ms", json: took.map { Self.milliseconds($0) })
        line.add("detail", detail)
        return line.text
    }

    func text(style: TextStyle) -> TerminalText {
        let name = style.event(step)
        let time = took.map { " (\(Self.milliseconds($0)) ms)" } ?? ""
        return "\(isFine ? "ok    " : "FAIL  ")\(name)\(ColumnLayout.spaces(max(14 - name.width, 1)))\(detail)\(time)"
    }

    /// Returns milliseconds with one decimal.
    static func milliseconds(_ duration: Duration) -> String {
        let tenths = Int((duration / .milliseconds(1) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
