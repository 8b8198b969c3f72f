import Basics
import CommandKit
import PusherHTTP

/// Publishes push notifications as events of a channel, one after the other.
///
/// Those that cannot be published are retried for as long as necessary, because they have been confirmed to the
/// homeserver. Meanwhile the gateway's queue fills, until the homeserver is asked to wait.
struct PushPublisher: Sendable {
    let client: PusherHTTPClient
    let channel: String
    /// The event name; `nil` uses the type of the Matrix event.
    let event: String?

    /// Publishes until the notifications end or the task is cancelled. Notifications left over by then are counted and
    /// reported as an error.
    ///
    /// - Throws: If the server refuses for good.
    func publish(_ notifications: AsyncStream<PushNotification>) async throws {
        var left = 0
        for await notification in notifications {
            if left == 0, try await publish(notification) { continue }
            left += 1
        }
        if left > 0 {
            throw CommandFailure(.unavailable, "\(left) notifications that had arrived were not published")
        }
    }

    /// - Returns: Whether the notification was handled; false if the task was cancelled first.
    private func publish(_ notification: PushNotification) async throws -> Bool {
        var pause = Duration.seconds(1)
        while !Task.isCancelled {
            do {
                _ = try await client.trigger(
                    event: event ?? notification.type ?? "push", channels: [channel], data: notification.json)
                return true
            } catch {
                switch error.exitStatus {
                case .refused: throw error
                case .unavailable, .interrupted:
                    if pause == .seconds(1), !Task.isCancelled {
                        StandardError.write("error: \(Complaint.text(error)); it is tried again")
                    }
                    try? await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(30))
                case .badData, .timedOut, .done, .wrongUse, .unwritable:
                    // The server rejects this notification, for example because it is too large.
                    StandardError.write("error: a notification was not published: \(Complaint.text(error))")
                    return true
                }
            }
        }
        return false
    }
}
