public import Foundation

extension Notification.Name {
    /// The server has brought events of a room that nobody looked at, or they were looked at.
    public static let mxkRoomDataSourceSyncStatusChanged = Notification.Name("kMXKRoomDataSourceSyncStatusChanged")
    /// The timeline around an event could not be had. The error is under ``kMXKRoomDataSourceTimelineErrorErrorKey``.
    public static let mxkRoomDataSourceTimelineError = Notification.Name("kMXKRoomDataSourceTimelineError")
}

/// The error of ``Foundation/NSNotification/Name/mxkRoomDataSourceTimelineError``.
public let kMXKRoomDataSourceTimelineErrorErrorKey = "kMXKRoomDataSourceTimelineErrorErrorKey"
