import Basics
import CommandKit
import PydioSDK

/// Reports the files of a transfer, including skipped ones.
final class TransferReport: Sendable {
    private let json: Bool
    private let line = TransferLine()
    private let status = Lock(ExitStatus.done)

    init(json: Bool) { self.json = json }

    func progress(_ label: String) -> @Sendable (PydioTransferProgress) -> Void {
        { [line] in line.show($0.completed, of: $0.total, label) }
    }

    /// - Parameter words: The text to print; `nil` prints nothing.
    func done(_ record: TransferRecord, _ words: String? = nil) { done(json: record.json, words) }

    /// Reports a JSON object.
    func done(json object: String, _ words: String? = nil) {
        line.erase()
        // A failed write is ignored: the files are what the user asked for.
        if json {
            _ = StandardOutput.write(json: object)
        } else if let words {
            _ = StandardOutput.write(TerminalText(words))
        }
    }

    /// Reports that the server has changed a name.
    func tellName(of node: RemotePath, insteadOf wanted: RemotePath) {
        // Compares bytes, because two encodings of a letter are two names.
        guard !node.path.isExactly(wanted.path) else { return }
        line.erase()
        StandardError.write("warning: the server calls \(wanted) \(node)")
    }

    /// Clears the line on the terminal for other output.
    func pause() { line.erase() }

    /// Reports a skipped file; the transfer continues.
    func failed(_ words: String, _ status: ExitStatus = .badData) {
        line.erase()
        StandardError.write("error: \(words)")
        self.status.withLock { if status.rawValue > $0.rawValue { $0 = status } }
    }

    /// Runs the work and skips a failure that concerns only one file; any other failure ends the transfer.
    func skipping(_ what: String, _ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as CommandFailure where error.exitStatus == .badData {
            failed(error.description, error.exitStatus)
        } catch let error as PydioError where error.exitStatus == .badData {
            failed("\(what): \(error)", error.exitStatus)
        }
    }

    /// Runs the work for one of several arguments. After a failure the others are still tried, unless it concerns all
    /// of them.
    func trying(_ what: String, _ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as CommandFailure where error.exitStatus != .interrupted {
            let words = error.description
            failed(words.contains(what) ? words : "\(what): \(words)", error.exitStatus)
        } catch let error as PydioError where !error.isOfLogin && error.code != .cancelled {
            failed("\(what): \(error)", error.exitStatus)
        }
    }

    /// Ends the command with the status of the worst failure.
    func end() throws {
        line.erase()
        try status.withLock { $0 }.exit()
    }
}
