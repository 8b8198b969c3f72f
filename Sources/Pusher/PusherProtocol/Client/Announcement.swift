import Basics

/// A `pusher:error` with a close code. Servers send it before they close the connection for the same fault, which must
/// be reported once, with what happens next. Some servers send it and keep the connection open (Pusher protocol, "Error
/// codes").
struct Announcement: Sendable {
    /// The maximum time until the close.
    static let patience = Duration.seconds(1)

    let code: Int
    /// The server's message, without signatures.
    let message: String
    /// The error to report if the close follows.
    let draft: ErrorDraft
    /// The error to report if something else follows, or nothing.
    let error: PusherError
    let deadline: MonotonicInstant
    /// Whether the code counts as a close code if the connection just breaks. Connections stay open after codes from
    /// 4300 on.
    var isDecisive: Bool { code < 4300 }
    /// Whether the error was reported because the close did not follow in time. A later close is then not reported.
    var isReported = false
}
