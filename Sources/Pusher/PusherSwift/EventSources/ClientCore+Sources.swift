import Basics
import CurlTransport
import Foundation
import PusherProtocol
import Realtime

/// Channels of attached sources. They have bindings like other channels, but the machine doesn't know them.
extension ClientCore: RealtimeEventSink {
    /// The prefixes of sources in this project. You can bind to their channels before they are attached.
    private static let knownPrefixes = ["matrix:", "pydio:"]

    func isSourceChannel(_ name: String) -> Bool {
        (Self.knownPrefixes + hub.sourcePrefixes).contains {
            name.hasPrefix($0) && name.utf8.count > $0.utf8.count
        }
    }

    func sourceChannel(named name: String) -> PusherChannel {
        callbacks.withLock { callbacks in
            let id = hub.channel(named: name)
            if let channel = callbacks.channels[id] { return channel.object }
            let channel = PusherChannel(name: name, id: id, core: self)
            if !callbacks.isClosed { callbacks.channels[id] = ClientCallbacks.Channel(object: channel) }
            return channel
        }
    }

    /// Whether an attached source delivers events of this channel.
    func hasSource(of name: String) -> Bool { hub.sourcePrefixes.contains { name.hasPrefix($0) } }

    // MARK: Events from sources

    /// Receives events by way of the I/O thread, to keep them in order with queued callbacks.
    func receive(_ events: SourceEvents) {
        guard !events.isEmpty else { return }
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            deliver([.events(hub.batch(of: events))])
        }
    }

    func receive(_ failure: SourceFailure) {
        report(PusherError(failure))
    }

    func receive(_ state: SourceState) {
        NetworkActor.execute { [weak self] in self?.deliver([.sourceStateChanged(state)]) }
    }

    func receive(_ gap: SourceGap) {
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            // A channel without bindings has no id; `Pusher.gaps` still reports its gaps.
            let id = hub.boundChannel(named: gap.channelName) ?? .none
            // Replaces an invalid date by now, and limits others to a century away.
            func instant(_ date: Date) -> MonotonicInstant {
                let (since, until) = (-date.timeIntervalSinceNow, date.timeIntervalSinceNow)
                let past = Duration.bounded(seconds: since) ?? .zero, future = Duration.bounded(seconds: until) ?? .zero
                return .now + (future - past)
            }
            deliver([.gap(id, name: gap.channelName, from: instant(gap.start), to: instant(gap.end))])
        }
    }
}
