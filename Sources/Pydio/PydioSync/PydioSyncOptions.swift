public import PydioSDK

/// Options for a ``PydioFolderSync``. The defaults fit most programs.
public struct PydioSyncOptions: Sendable {
    /// The direction of changes. Default: both.
    public var direction = PydioSyncDirection.both
    /// Whether to delete everything on one side if everything that was ever synced is gone from the other one. Default:
    /// no, since an unmounted disk looks the same. The sync then does nothing, see ``PydioSyncSummary/emptySide``.
    public var allowsEmptying = false
    /// Whether to read the server's change log, if it has one, and only list changed folders. Default: yes.
    public var usesChangesFeed = true
    /// The interval at which to list everything on the server in spite of its change log: the log lacks changes made on
    /// the server's disk, and may lack those of interrupted requests. Regardless of this interval, nothing is deleted
    /// because of the log alone. Default: a day; zero lists everything in each run.
    public var fullListingInterval = Duration.seconds(86_400)
    /// The maximum number of files and folders in the folder on the server. If there are more, the sync fails and does
    /// nothing. Default: 1,000,000, which take about 500 MB.
    public var maximumNodes = 1_000_000
    /// While watching: the interval at which to check the local folder for changes. Default: 5 seconds.
    public var rescanInterval = Duration.seconds(5)
    /// While watching: options for the server's change events.
    public var events = PydioEventsOptions()

    /// Creates the default options.
    public init() {}
}
