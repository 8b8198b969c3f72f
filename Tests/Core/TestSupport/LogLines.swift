import Basics
package import Logging

/// A log handler that keeps each message as a line of text.
package final class LogLines: LogHandler {
    private let lines = Lock<[String]>([])
    private let sourceNames = Lock<Set<String>>([])

    /// The modules that logged the lines.
    package var sources: Set<String> { sourceNames.withLock { $0 } }

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package func contains(_ text: String) -> Bool { all.contains { $0.contains(text) } }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in self }
        logger.logLevel = .trace
        return logger
    }

    package subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    package var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    package var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    package func log(event: LogEvent) {
        let source = event.source
        sourceNames.withLock { _ = $0.insert(source) }
        lines.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
