public import Foundation

extension Notification.Name {
    /// Posted for an error that no caller is waiting for. The object is the error. ``kMXKErrorUserIdKey`` holds the
    /// user of the account.
    public static let mxkError = Notification.Name("kMXKErrorNotification")
}

/// The key of the user whose account had the error.
public let kMXKErrorUserIdKey = "kMXKErrorUserIdKey"

extension NotificationCenter {
    func postMXKError(_ error: any Error, userId: String?) {
        post(name: .mxkError, object: error, userInfo: userId.map { [kMXKErrorUserIdKey: $0] })
    }
}
