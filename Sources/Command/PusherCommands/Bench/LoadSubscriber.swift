import Basics
import Foundation
import PusherSwift

/// One connection of a load test, subscribed to its channels.
final class LoadSubscriber: PusherDelegate {
    private struct State {
        var started: MonotonicInstant?
        var connected: MonotonicInstant?
        var isUp = false
        var isClosing = false
        var subscribed: Set<String> = []
    }

    private let pusher: Pusher
    private let tally: LoadTally
    private let state = Lock(State())

    /// - Parameter first: The number of its first subscription; the others follow.
    init(pusher: Pusher, channels: [String], first: Int, tally: LoadTally) {
        self.pusher = pusher
        self.tally = tally
        pusher.delegate = self
        for (offset, channel) in channels.enumerated() {
            pusher.subscribe(channel).bind(eventName: LoadPlan.eventName) { event in
                tally.received(event, by: first + offset)
            }
        }
    }

    func connect() {
        state.withLock { $0.started = .now }
        pusher.connect()
    }

    func close() {
        state.withLock { $0.isClosing = true }
        pusher.disconnect()
    }

    // MARK: Events, on the I/O thread

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        let now = MonotonicInstant.now
        let (wasUp, took, isFirst) = state.withLock { state -> (Bool, Duration?, Bool) in
            let isFirst = state.connected == nil
            defer {
                state.isUp = new == .connected
                if new == .connected, isFirst { state.connected = now }
            }
            return (state.isUp, state.started.map { now - $0 }, isFirst)
        }
        let isUp = new == .connected
        guard isUp != wasUp else { return }
        tally.update { counts in
            counts.connected += isUp ? 1 : -1
            guard isUp else { return }
            if isFirst, let took { counts.connecting.record(took) }
            if !isFirst { counts.reconnects += 1 }
        }
    }

    func subscribedToChannel(name: String) {
        let now = MonotonicInstant.now
        let took = state.withLock { state -> Duration? in
            guard let connected = state.connected, state.subscribed.insert(name).inserted else { return nil }
            return now - connected
        }
        guard let took else { return }  // subscribed again, after a reconnect
        tally.update { counts in
            counts.subscribed += 1
            counts.subscribing.record(took)
        }
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        if let error = error?.userInfo[NSUnderlyingErrorKey] as? PusherError { note(error) }
    }

    func receivedError(error: PusherError) {
        note(error)
    }

    private func note(_ error: PusherError) {
        guard !state.withLock({ $0.isClosing }) else { return }
        tally.note(error, kind: "\(error.kind) \(error.code ?? 0)", isFinal: !error.willRetry)
    }
}
