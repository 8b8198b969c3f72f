import PusherSwift

/// Where events come from beside the channels of Pusher: a Matrix account, the workspaces of a Pydio server.
protocol Feed: AnyObject, Sendable {
    /// Attaches its source, and lets events come.
    ///
    /// - Parameter failed: Told why there will be nothing to hear. What goes wrong later is an error of the source's.
    func start(on pusher: Pusher, failed: @escaping @Sendable (any Error) -> Void)

    func close()

    /// Whether events of a channel come from here.
    func brings(_ channel: String?) -> Bool

    /// What an event is to whoever reads the stream; nil if it is nothing to them. Called for each in order, once.
    ///
    /// - Parameter forPeople: Whether names are wanted where there are ids.
    func news(of event: PusherEvent, forPeople: Bool) throws(CommandFailure) -> FeedNews?

    /// Whether a gap is in what is listened to.
    func wants(_ gap: PusherGap) -> Bool

    /// Whether an error of a source is one of this one's.
    func isConcerned(by error: PusherError) -> Bool

    /// Whether an error is the first of its kind since it was connected.
    func isNew(_ error: PusherError) -> Bool

    /// An error after which what it is of is not tried again.
    ///
    /// - Returns: How a command ends with it; nil if something else of this feed goes on.
    func end(by error: PusherError) -> ExitStatus?

    /// Whether something has failed since it was connected last, and is tried again.
    var isFailing: Bool { get }
}

/// A line of a feed.
struct FeedNews {
    let record: Record
    /// Whether it is one that `--count` counts.
    var counts = false
    /// Whether something that is listened to has come about with it.
    var isConnected = false
    /// What people should know besides.
    var warnings: [String] = []
}
