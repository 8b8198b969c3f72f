public import Foundation

extension Notification.Name {
    /// Posted when the server has delivered events of a room that is not on screen, or when they have been seen.
    public static let mxkRoomDataSourceSyncStatusChanged = Notification.Name("kMXKRoomDataSourceSyncStatusChanged")
    /// Posted when the timeline around an event could not be loaded. ``kMXKRoomDataSourceTimelineErrorErrorKey`` holds
    /// the error.
    public static let mxkRoomDataSourceTimelineError = Notification.Name("kMXKRoomDataSourceTimelineError")
}

/// The key of the error in ``Foundation/NSNotification/Name/mxkRoomDataSourceTimelineError``.
public let kMXKRoomDataSourceTimelineErrorErrorKey = "kMXKRoomDataSourceTimelineErrorErrorKey"
