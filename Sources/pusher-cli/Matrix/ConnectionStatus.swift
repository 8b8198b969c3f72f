import Foundation
import MatrixProtocol

/// What is said of the connection to a homeserver: how its session is, and what it waits for.
struct ConnectionStatus {
    /// Shorter pauses are over before anybody has read until when they last.
    private static let shortestWait = Duration.seconds(20)

    private let server: String
    private var state: MXSessionState
    private var wait: (isForLimit: Bool, end: Date)?

    /// Of a session that has just begun.
    init(_ server: String) { (self.server, state) = (server, .initialised) }

    mutating func changed(to new: MXSessionState) {
        state = new
        switch new {
        case .homeserverNotReachable, .syncError, .initialSyncFailed: break
        default: wait = nil
        }
    }

    /// - Parameter retryAfter: Nil changes nothing: it was no sync, or is not tried again.
    mutating func failed(_ error: any Error, retryAfter: Duration?, now: Date = Date()) {
        guard let retryAfter else { return }
        let isForLimit = (error as? MXError)?.status == 429
        wait =
            retryAfter < Self.shortestWait
            ? nil : (isForLimit, now.addingTimeInterval(retryAfter / .seconds(1)))
    }

    /// For people; nil while all is well.
    var words: String? {
        switch state {
        case .running, .backgroundSyncInProgress, .pauseRequested: nil
        case .initialised, .storeDataReady, .processingBackgroundSyncCache, .syncInProgress: "Connecting to \(server)…"
        case .homeserverNotReachable: "\(server) cannot be reached. \(nextTry)"
        case .syncError, .initialSyncFailed:
            wait?.isForLimit == true
                ? "\(server) limits how often it is asked. \(nextTry)" : "\(server) answers with an error. \(nextTry)"
        case .paused: "Paused"
        case .closed: "This login has ended. Leave with Ctrl-C, and log in again."
        @unknown default: nil
        }
    }

    private var nextTry: String {
        guard let wait else { return "Trying again…" }
        let time = Calendar.current.dateComponents([.hour, .minute, .second], from: wait.end)
        let clock = [time.hour, time.minute, time.second].map { String(format: "%02d", $0 ?? 0) }
        return "Trying again at \(clock.joined(separator: ":")); /reconnect tries now."
    }
}
