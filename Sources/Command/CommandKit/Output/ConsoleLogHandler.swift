import Foundation
import Logging

/// What `--verbose` logs, above the prompt.
struct ConsoleLogHandler: LogHandler {
    let write: @Sendable (TerminalText) -> Void
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    init(_ write: @escaping @Sendable (TerminalText) -> Void) {
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let pairs = values.map { "\($0.key)=\($0.value) " }.joined()
        write("\(Record.clock(Date())) \(event.level.rawValue) \(pairs)\(event.message)")
    }
}
