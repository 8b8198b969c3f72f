public import Foundation

extension Notification.Name {
    /// Something went wrong that nobody waits for; the object is the error. Whose account it was is under
    /// ``kMXKErrorUserIdKey``.
    public static let mxkError = Notification.Name("kMXKErrorNotification")
}

/// The user in whose account something went wrong.
public let kMXKErrorUserIdKey = "kMXKErrorUserIdKey"

extension NotificationCenter {
    func postMXKError(_ error: any Error, userId: String?) {
        post(name: .mxkError, object: error, userInfo: userId.map { [kMXKErrorUserIdKey: $0] })
    }
}
