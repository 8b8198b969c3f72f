import Basics
import CommandKit
import PusherHTTP

/// Publishes push notifications as events of a channel, one after the other.
///
/// Those that cannot be published now are tried again for as long as it takes: the homeserver has been told that they have
/// arrived. Meanwhile the gateway's buffer fills, and then the homeserver is told to wait.
struct PushPublisher: Sendable {
    let client: PusherHTTPClient
    let channel: String
    /// Nil is the type of the Matrix event.
    let event: String?

    /// Publishes until they end, or the task is cancelled: then those that are left are counted, and that is an error.
    ///
    /// - Throws: When the server refuses for good.
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

    /// - Returns: Whether it is dealt with; false if the task was cancelled before.
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
                    // The server will not take this one: too large, for instance.
                    StandardError.write("error: a notification was not published: \(Complaint.text(error))")
                    return true
                }
            }
        }
        return false
    }
}
