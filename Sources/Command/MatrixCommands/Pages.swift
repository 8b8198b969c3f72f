import CommandKit

/// Reads messages that a server returns in pages.
enum Pages {
    /// Servers may return pages without messages, but not endlessly.
    private static let maximumEmptyPages = 100

    /// Returns the first messages, up to `limit`.
    ///
    /// - Parameter page: Requests the page at a token, `nil` for the first, and returns the token of the next one.
    static func messages<Message>(
        limit: Int, _ page: (_ token: String?) async throws -> (messages: [Message], next: String?)
    ) async throws -> [Message] {
        var messages: [Message] = []
        var token: String?
        var emptyPages = 0
        repeat {
            let (found, next) = try await page(token)
            messages += found
            token = next == token ? nil : next
            emptyPages = found.isEmpty ? emptyPages + 1 : 0
            guard emptyPages < maximumEmptyPages else {
                let what = "the server gave \(emptyPages) pages without a message"
                guard !messages.isEmpty else { throw CommandFailure(.unavailable, what) }
                StandardError.write("warning: \(what); older messages are not shown")
                break
            }
        } while messages.count < limit && token != nil
        return Array(messages.prefix(limit))
    }
}
