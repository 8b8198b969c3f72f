import Foundation
package import Logging

/// Logs for `--verbose`, above the prompt.
package struct ConsoleLogHandler: LogHandler {
    package let write: @Sendable (TerminalText) -> Void
    package var logLevel = Logger.Level.debug
    package var metadata: Logger.Metadata = [:]

    package init(_ write: @escaping @Sendable (TerminalText) -> Void) {
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let pairs = values.map { "\($0.key)=\($0.value) " }.joined()
        write("\(Record.clock(Date())) \(event.level.rawValue) \(pairs)\(event.message)")
    }
}
