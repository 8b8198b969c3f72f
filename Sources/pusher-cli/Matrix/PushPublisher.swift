import PusherHTTP
import Transport

/// Publishes push notifications as events of a channel, one after the other.
///
/// Those that cannot be published now are tried again for as long as it takes: the homeserver has been told that they have
/// arrived. Meanwhile the gateway's buffer fills, and then the homeserver is told to wait.
struct PushPublisher: Sendable {
    let client: PusherHTTPClient
    let channel: String
    /// Nil is the type of the Matrix event.
    let event: String?

    /// Throws when the server refuses for good.
    func publish(_ notification: PushNotification) async throws {
        var pause = Duration.seconds(1)
        while true {
            do {
                _ = try await client.trigger(
                    event: event ?? notification.type ?? "push", channels: [channel], data: notification.json)
                return
            } catch {
                switch error.exitStatus {
                case .refused: throw error
                case .unavailable:
                    if pause == .seconds(1) { StandardError.write("error: \(error); it is tried again") }
                    try await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(30))
                case .badData, .timedOut, .done:
                    // The server will not take this one: too large, for instance.
                    return StandardError.write("error: a notification is not published: \(error)")
                }
            }
        }
    }
}
