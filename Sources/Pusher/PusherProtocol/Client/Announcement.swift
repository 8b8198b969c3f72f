import Basics

/// A `pusher:error` with a close code. Servers send it before the close of the same fault, which is to be reported once,
/// with what happens next; but some send it and stay (Pusher protocol, "Error codes").
struct Announcement: Sendable {
    /// How long the close may take.
    static let patience = Duration.seconds(1)

    let code: Int
    /// The server's words, without signatures.
    let message: String
    /// What is reported if the close comes.
    let draft: ErrorDraft
    /// What is reported if something else comes, or nothing.
    let error: PusherError
    let deadline: MonotonicInstant
    /// Counts as a close code if the connection just breaks. Codes from 4300 on are of connections that go on.
    var isDecisive: Bool { code < 4300 }
    /// The close has not come in time, so that the error is told; should it come yet, it tells nothing new.
    var isReported = false
}
