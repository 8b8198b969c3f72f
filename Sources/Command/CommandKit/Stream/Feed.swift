package import PusherSwift

/// A source of events other than Pusher channels: a Matrix account or the workspaces of a Pydio server.
package protocol Feed: AnyObject, Sendable {
    /// Starts delivering events.
    ///
    /// - Parameters:
    ///   - report: Called on ``EventStream/queue``, in order.
    ///   - failed: Called if the feed cannot start. Later errors are reported.
    func start(
        _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void)

    /// Stops delivering events.
    func close()

    /// Returns once all answers have been sent to the source. Called after ``close()``, when no event is being handled
    /// any more.
    func finish() async

    /// The server to wait for.
    var serverName: String { get }

    /// Returns the line for an event; `nil` to ignore it. Called once for each event, in order.
    ///
    /// - Parameter forPeople: Whether to replace ids with names.
    func news(of event: RealtimeEvent, forPeople: Bool) throws(CommandFailure) -> FeedNews?

    /// Returns the line for a change of state; `nil` to ignore it.
    func news(of state: SourceState) throws(CommandFailure) -> FeedNews?

    /// Called after the news of an event were written.
    func wrote(_ event: RealtimeEvent)

    /// Called when everything before this position of the stream has been reported.
    func reached(_ position: String)

    /// Returns whether a gap affects the selected events.
    func wants(_ gap: SourceGap) -> Bool

    /// Returns whether a failure is the first of its kind since the connection was established.
    func isNew(_ failure: SourceFailure) -> Bool

    /// Handles a failure that is not retried.
    ///
    /// - Returns: The exit status of the command; `nil` if another part of this feed continues.
    func end(by failure: SourceFailure) -> ExitStatus?

    /// Whether something has failed since the last connection and is being retried.
    var isFailing: Bool { get }
}

extension Feed {
    package func wrote(_ event: RealtimeEvent) {}

    package func finish() async {}

    package func reached(_ position: String) {}
}

/// A report of a feed.
package enum FeedReport: Sendable {
    case event(RealtimeEvent)
    case state(SourceState)
    case gap(SourceGap)
    case failed(SourceFailure)
    /// News from before the first report.
    case news(FeedNews)
    /// Everything before this position of a source's stream was reported.
    case reached(String)

    /// Returns `nil` for events, which are reported one by one.
    package init?(_ notice: SourceNotice) {
        switch notice {
        case .events: return nil
        case .stateChanged(let state): self = .state(state)
        case .failed(let failure): self = .failed(failure)
        case .gap(let gap): self = .gap(gap)
        case .reached(let position): self = .reached(position)
        }
    }
}

/// A line of a feed.
package struct FeedNews: Sendable {
    package let record: Record
    /// Whether `--count` counts the line.
    package var counts = false
    /// Whether the line means that a connection or subscription was established.
    package var isConnected = false
    /// Additional warnings for the user.
    package var warnings: [String] = []
    /// Receives the outcome; `nil` if it is not needed.
    package var answer: EventAnswer?

    package init(record: Record, counts: Bool = false, isConnected: Bool = false, answer: EventAnswer? = nil) {
        (self.record, self.counts, self.isConnected, self.answer) = (record, counts, isConnected, answer)
    }
}

extension PusherGap {
    package init(_ gap: SourceGap) { self.init(channelName: gap.channelName, start: gap.start, end: gap.end) }
}
