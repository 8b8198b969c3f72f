package import Logging
package import Basics

extension Logger {
    /// The only way from this package into a log: a constant message, with what belongs to it as text that is fit for a line
    /// whoever wrote it.
    package func report(
        _ level: Logger.Level, _ message: StaticString, _ fields: KeyValuePairs<StaticString, PeerText> = [:]
    ) {
        guard level >= logLevel else { return }
        var metadata: Logger.Metadata = [:]
        for (name, text) in fields { metadata["\(name)"] = .string(text.description) }
        log(level: level, "\(message)", metadata: metadata)
    }
}
