package import PusherSwift

/// Where events come from beside the channels of Pusher: a Matrix account, the workspaces of a Pydio server.
package protocol Feed: AnyObject, Sendable {
    /// Lets events come.
    ///
    /// - Parameters:
    ///   - report: Called on ``EventStream/queue``, in order.
    ///   - failed: Told why there will be nothing to hear. What goes wrong later is reported.
    func start(
        _ report: @escaping @Sendable (FeedReport) -> Void, failed: @escaping @Sendable (any Error) -> Void)

    /// Lets no more come.
    func close()

    /// Returns when all is said to whoever sent the events. Called behind ``close()``, when nothing is done with events any more.
    func finish() async

    /// Who is waited for until something comes about.
    var serverName: String { get }

    /// What an event is to whoever reads the stream; nil if it is nothing to them. Called for each in order, once.
    ///
    /// - Parameter forPeople: Whether names are wanted where there are ids.
    func news(of event: RealtimeEvent, forPeople: Bool) throws(CommandFailure) -> FeedNews?

    /// The same for a change of state.
    func news(of state: SourceState) throws(CommandFailure) -> FeedNews?

    /// The news of an event were written.
    func wrote(_ event: RealtimeEvent)

    /// All that comes before this point of the stream was told.
    func reached(_ position: String)

    /// Whether a gap is in what is listened to.
    func wants(_ gap: SourceGap) -> Bool

    /// Whether a failure is the first of its kind since it was connected.
    func isNew(_ failure: SourceFailure) -> Bool

    /// A failure after which what it is of is not tried again.
    ///
    /// - Returns: How a command ends with it; nil if something else of this feed goes on.
    func end(by failure: SourceFailure) -> ExitStatus?

    /// Whether something has failed since it was connected last, and is tried again.
    var isFailing: Bool { get }
}

extension Feed {
    package func wrote(_ event: RealtimeEvent) {}

    package func finish() async {}

    package func reached(_ position: String) {}
}

/// What comes of a feed.
package enum FeedReport: Sendable {
    case event(RealtimeEvent)
    case state(SourceState)
    case gap(SourceGap)
    case failed(SourceFailure)
    /// What was to be told of before the first report.
    case news(FeedNews)
    /// All that comes before this point of a source's stream was reported.
    case reached(String)

    /// Nil for events, which come one by one.
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
    /// Whether it is one that `--count` counts.
    package var counts = false
    /// Whether something that is listened to has come about with it.
    package var isConnected = false
    /// What people should know besides.
    package var warnings: [String] = []
    /// Who is told what becomes of it; nil if nobody wants to know.
    package var answer: EventAnswer?

    package init(record: Record, counts: Bool = false, isConnected: Bool = false, answer: EventAnswer? = nil) {
        (self.record, self.counts, self.isConnected, self.answer) = (record, counts, isConnected, answer)
    }
}

extension PusherGap {
    package init(_ gap: SourceGap) { self.init(channelName: gap.channelName, start: gap.start, end: gap.end) }
}
