import Basics
import CommandKit
import PydioSDK

/// Tells of the files of a transfer, and of those that it leaves out.
final class TransferReport: Sendable {
    private let json: Bool
    private let line = TransferLine()
    private let status = Lock(ExitStatus.done)

    init(json: Bool) { self.json = json }

    func progress(_ label: String) -> @Sendable (PydioTransferProgress) -> Void {
        { [line] in line.show($0.completed, of: $0.total, label) }
    }

    /// - Parameter words: What people read of it; nil for nothing.
    func done(_ record: TransferRecord, _ words: String? = nil) { done(json: record.json, words) }

    /// The same of a JSON object.
    func done(json object: String, _ words: String? = nil) {
        line.erase()
        // Whether or not somebody reads it, the files are what was asked for.
        if json {
            _ = StandardOutput.write(json: object)
        } else if let words {
            _ = StandardOutput.write(TerminalText(words))
        }
    }

    /// Says that the server has another name for something than it was given.
    func tellName(of node: RemotePath, insteadOf wanted: RemotePath) {
        // By bytes: two spellings of a letter are two names.
        guard !node.path.isExactly(wanted.path) else { return }
        line.erase()
        StandardError.write("warning: the server calls \(wanted) \(node)")
    }

    /// Makes room on the terminal for what is written otherwise.
    func pause() { line.erase() }

    /// Something is left out, and the rest goes on.
    func failed(_ words: String, _ status: ExitStatus = .badData) {
        line.erase()
        StandardError.write("error: \(words)")
        self.status.withLock { if status.rawValue > $0.rawValue { $0 = status } }
    }

    /// The same for what concerns one file alone; anything else ends the transfer.
    func skipping(_ what: String, _ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as CommandFailure where error.exitStatus == .badData {
            failed(error.description, error.exitStatus)
        } catch let error as PydioError where error.exitStatus == .badData {
            failed("\(what): \(error)", error.exitStatus)
        }
    }

    /// The same for one of several arguments: the others are tried whatever goes wrong with it, unless that concerns all of
    /// them.
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
