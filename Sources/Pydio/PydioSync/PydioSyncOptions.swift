public import PydioSDK

/// How a ``PydioFolderSync`` behaves. The defaults are good.
public struct PydioSyncOptions: Sendable {
    /// Which way changes are carried. Default: both.
    public var direction = PydioSyncDirection.both
    /// Whether to delete everything on one side when everything that was ever synced is gone from the other one.
    /// Default: no, since a disk that is not mounted looks the same; nothing is done then, see
    /// ``PydioSyncSummary/emptySide``.
    public var allowsEmptying = false
    /// Whether to read the server's log of changes where it keeps one, and to list only what has changed. Default: yes.
    public var usesChangesFeed = true
    /// How long to trust the server's log of changes before everything on the server is listed again: the log says nothing
    /// of what changes on the server's disk, and may lack what a request was to record that was cut off. Nothing is
    /// deleted because of the log alone, however long this is. Default: a day; zero lists everything in each run.
    public var fullListingInterval = Duration.seconds(86_400)
    /// Files and folders that the folder on the server may hold; more is an error, and nothing is done. Default:
    /// 1,000,000, which take about 500 MB.
    public var maximumNodes = 1_000_000
    /// While watching: how often to look for changes in the local folder. Default: 5 seconds.
    public var rescanInterval = Duration.seconds(5)
    /// While watching: how the server's changes are heard of.
    public var events = PydioEventsOptions()

    /// The defaults.
    public init() {}
}
