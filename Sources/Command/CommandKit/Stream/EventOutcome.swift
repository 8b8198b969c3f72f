/// The outcome of an event.
package enum EventOutcome: Sendable {
    /// The event was written, or its command succeeded.
    case handled
    /// The event's command failed.
    case failed
    /// Nothing was done with the event.
    case notBegun
}

/// Receives the outcome of an event, once, and returns the consequence as a message to the user, if there is one.
package typealias EventAnswer = @Sendable (EventOutcome) -> TerminalText?
