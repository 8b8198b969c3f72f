import CommandKit
import Foundation

/// The output of the shell: records and answers on standard output, errors on standard error. At a terminal, output
/// appears above the prompt.
struct ShellOutput: Sendable {
    let format: OutputOptions
    /// The console; `nil` if the shell is not interactive.
    let console: ShellConsole?
    /// Called when standard output no longer accepts data.
    let ended: @Sendable () -> Void

    func print(_ record: Record) {
        if format.json {
            write([record.json(at: Date())], StandardOutput.write(json:))
        } else {
            write([record.text(at: Date(), style: format.color.standardOutput)], StandardOutput.write)
        }
    }

    func print(_ answer: ShellAnswer) {
        guard let json = format.json ? answer.json(at: Date()) : [] else {
            makingWay { for line in answer.text(width: nil) { StandardError.write(line) } }
            return
        }
        if format.json { return write(json, StandardOutput.write(json:)) }
        write(answer.text(width: StandardOutput.columns), StandardOutput.write)
    }

    /// - Parameter line: The line of the script; `nil` for interactive input.
    func complain(_ error: any Error, line: Int? = nil) {
        let place = line.map { "line \($0): " } ?? ""
        makingWay { StandardError.write("error: \(place)\(Complaint.text(error))") }
    }

    func log(_ line: TerminalText) { makingWay { StandardError.write(line) } }

    private func write<Line>(_ lines: [Line], _ write: (Line) -> Bool) {
        var isTaken = true
        makingWay {
            for line in lines where isTaken { isTaken = write(line) }
        }
        if !isTaken { ended() }
    }

    private func makingWay(_ write: () -> Void) {
        if let console { console.makingWay(write) } else { write() }
    }
}
