import Foundation
import MatrixProtocol

/// The status of the connection to a homeserver, from its session's state and pending retries.
struct ConnectionStatus {
    /// Shorter waits end before their time can be read.
    private static let shortestWait = Duration.seconds(20)

    private let server: String
    private var state: MXSessionState
    private var wait: (isForLimit: Bool, end: Date)?
    /// Whether the homeserver no longer accepts the login.
    private var isLoginOver = false

    /// Creates the status of a new session.
    init(_ server: String) { (self.server, state) = (server, .initialised) }

    mutating func changed(to new: MXSessionState) {
        state = new
        switch new {
        case .homeserverNotReachable, .syncError, .initialSyncFailed: break
        case .running: (wait, isLoginOver) = (nil, false)
        default: wait = nil
        }
    }

    /// - Parameter retryAfter: `nil` if this was not a sync or is not retried.
    mutating func failed(_ error: any Error, retryAfter: Duration?, now: Date = Date()) {
        guard let retryAfter else {
            isLoginOver = isLoginOver || Self.isRefusedLogin(error)
            return
        }
        let isForLimit = (error as? MXError)?.status == 429
        wait =
            retryAfter < Self.shortestWait
            ? nil : (isForLimit, now.addingTimeInterval(retryAfter / .seconds(1)))
    }

    private static func isRefusedLogin(_ error: any Error) -> Bool {
        (error as? MXError)?.status == 401 || (error as? MatrixError)?.code == .unauthenticated
    }

    /// The status as a message; `nil` if all is well.
    var words: String? {
        if isLoginOver { return Self.loginIsOver }
        return switch state {
        case .running, .backgroundSyncInProgress, .pauseRequested: nil
        case .initialised, .storeDataReady, .processingBackgroundSyncCache, .syncInProgress: "Connecting to \(server)…"
        case .homeserverNotReachable: "\(server) cannot be reached. \(nextTry)"
        case .syncError, .initialSyncFailed:
            wait?.isForLimit == true
                ? "\(server) limits how often it is asked. \(nextTry)" : "\(server) answers with an error. \(nextTry)"
        case .paused: "Paused"
        case .closed: Self.loginIsOver
        @unknown default: nil
        }
    }

    private static let loginIsOver = "This login has ended. Leave with Ctrl-C, and log in again."

    private var nextTry: String {
        guard let wait else { return "Trying again…" }
        let time = Calendar.current.dateComponents([.hour, .minute, .second], from: wait.end)
        let clock = [time.hour, time.minute, time.second].map { String(format: "%02d", $0 ?? 0) }
        return "Trying again at \(clock.joined(separator: ":")); /reconnect tries now."
    }
}
