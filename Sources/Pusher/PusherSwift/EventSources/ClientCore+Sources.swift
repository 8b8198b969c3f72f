import Basics
import CurlTransport
import Foundation
import PusherProtocol
import Realtime

/// Channels of attached sources: they have bindings as other channels do, but the machine knows nothing of them.
extension ClientCore: RealtimeEventSink {
    /// Prefixes of sources that this project knows; theirs can be bound to before they are attached.
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

    /// Whether a source brings events of this channel.
    func hasSource(of name: String) -> Bool { hub.sourcePrefixes.contains { name.hasPrefix($0) } }

    // MARK: What a source hands over

    /// Crosses the I/O thread, so that callbacks in line stay there.
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
            // A channel that nobody has bound to has no id; `Pusher.gaps` tells of its gaps all the same.
            let id = hub.boundChannel(named: gap.channelName) ?? .none
            // A date that is none is now, and none is further off than a century.
            func instant(_ date: Date) -> MonotonicInstant {
                let (since, until) = (-date.timeIntervalSinceNow, date.timeIntervalSinceNow)
                let past = Duration.bounded(seconds: since) ?? .zero, future = Duration.bounded(seconds: until) ?? .zero
                return .now + (future - past)
            }
            deliver([.gap(id, name: gap.channelName, from: instant(gap.start), to: instant(gap.end))])
        }
    }
}
