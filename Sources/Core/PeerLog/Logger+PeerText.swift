package import Basics
package import Logging

extension Logger {
    /// Writes to the log. The only way from this package into a log: every text is made safe for a line, whatever its
    /// origin.
    ///
    /// - Parameters:
    ///   - fields: Metadata; nil values are left out.
    ///   - file: The caller's file. The log's source is that file's module, which the application imports.
    package func report(
        _ level: Logger.Level, _ message: @autoclosure () -> PeerText,
        _ fields: @autoclosure () -> KeyValuePairs<StaticString, PeerText?> = [:],
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        guard level >= logLevel else { return }
        var metadata: Logger.Metadata = [:]
        for (name, text) in fields() { metadata["\(name)"] = text.map { .string($0.description) } }
        log(
            level: level, "\(message().description)", metadata: metadata, file: file, function: function, line: line)
    }
}
