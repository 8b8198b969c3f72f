/// What has become of an event.
package enum EventOutcome: Sendable {
    /// It is written, or its command has succeeded.
    case handled
    /// Its command has failed.
    case failed
    /// Nothing was done about it.
    case notBegun
}

/// Takes what has become of an event, once; says what follows for people, if there is anything to say.
package typealias EventAnswer = @Sendable (EventOutcome) -> TerminalText?
