import CurlTransport
import Foundation
import PusherProtocol
import Realtime
import Transport

/// Channels of attached sources.
///
/// They have bindings as other channels do, but nobody subscribes them: the machine knows nothing of them, and their ids
/// are never those of its subscriptions.
struct SourceChannels: Sendable {
    private var ids: [String: EventRouter.ChannelID] = [:]
    private var last = 0

    /// The channel's id, if it is bound to.
    subscript(name: String) -> EventRouter.ChannelID? { ids[name] }

    var names: [String] { Array(ids.keys) }

    mutating func add(_ name: String) -> EventRouter.ChannelID {
        last -= 1
        let id = EventRouter.ChannelID(number: EventRouter.ChannelID.firstOfSources + last)
        ids[name] = id
        return id
    }

    mutating func remove(_ name: String) -> EventRouter.ChannelID? { ids.removeValue(forKey: name) }
}

/// The sources of a client, and how many of its readers are too slow.
struct AttachedSources: Sendable {
    private(set) var all: [any RealtimeEventSource] = []
    private var holds = 0

    var isHeld: Bool { holds > 0 }

    /// - Returns: Whether it is to be held; nil if it was attached already.
    mutating func add(_ source: any RealtimeEventSource) -> Bool? {
        guard !all.contains(where: { $0 === source }) else { return nil }
        all.append(source)
        return isHeld
    }

    mutating func remove(_ source: any RealtimeEventSource) { all.removeAll { $0 === source } }

    /// - Returns: Whether that changes anything.
    mutating func hold() -> Bool {
        holds += 1
        return holds == 1
    }

    /// - Returns: Whether that changes anything.
    mutating func release() -> Bool {
        holds -= 1
        return holds == 0
    }
}

extension EventRouter.ChannelID {
    fileprivate static let firstOfSources = -1_000_000
}

extension ClientCore: RealtimeEventSink {
    /// Prefixes of sources that this project knows; theirs can be bound to before they are attached.
    private static let knownPrefixes = ["matrix:", "pydio:"]

    func isSourceChannel(_ name: String) -> Bool {
        let prefixes = Self.knownPrefixes + sources.withLock { $0.all.map(\.channelPrefix) }
        return prefixes.contains { name.hasPrefix($0) && name.utf8.count > $0.utf8.count }
    }

    func sourceChannel(named name: String) -> PusherChannel {
        bindings.withLock { bindings in
            if let id = bindings.sourceChannels[name], let channel = bindings.channelObjects[id] { return channel }
            guard !bindings.isClosed else { return PusherChannel(name: name, id: .none, core: self) }
            let id = bindings.sourceChannels.add(name)
            let channel = PusherChannel(name: name, id: id, core: self)
            bindings.router.addChannel(id)
            bindings.channelObjects[id] = channel
            bindings.handlers[id] = Bindings.Handlers()
            return channel
        }
    }

    // MARK: Sources

    func attach(_ source: any RealtimeEventSource) {
        guard !bindings.withLock({ $0.isClosed }), let isHeld = sources.withLock({ $0.add(source) }) else { return }
        source.attach(self)
        if isHeld { holdOrRelease() }
    }

    func detach(_ source: any RealtimeEventSource) {
        sources.withLock { $0.remove(source) }
        source.detach(self)
    }

    func detachAll() {
        for source in sources.withLock({ $0.all }) { detach(source) }
    }

    func holdSources() {
        if sources.withLock({ $0.hold() }) { holdOrRelease() }
    }

    func releaseSources() {
        if sources.withLock({ $0.release() }) { holdOrRelease() }
    }

    /// On the I/O thread alone, and by what holds then: of two changes from two threads the last has the last word.
    private func holdOrRelease() {
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            let (all, isHeld) = sources.withLock { ($0.all, $0.isHeld) }
            for source in all { source.hold(isHeld, for: self) }
        }
    }

    /// Whether a source brings events of this channel.
    func hasSource(of name: String) -> Bool {
        sources.withLock { $0.all.contains { name.hasPrefix($0.channelPrefix) } }
    }

    func forgetSourceChannel(named name: String) {
        let remains = bindings.withLock { bindings in
            bindings.sourceChannels.remove(name).map { bindings.removeChannel($0) }
        }
        remains?.end()
    }

    // MARK: What a source hands over

    /// Crosses the I/O thread, so that callbacks in line stay there.
    func receive(_ events: SourceEvents) {
        guard !events.isEmpty else { return }
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            let batch = bindings.withLock { bindings in events.batch { bindings.sourceChannels[$0] } }
            deliver([.events(batch)])
        }
    }

    func receive(_ failure: SourceFailure) {
        report(
            PusherError(
                .sourceFailed, failure.message, channelName: failure.channelName, willRetry: failure.willRetry,
                retryAfter: failure.retryAfter))
    }

    func receive(_ gap: SourceGap) {
        NetworkActor.execute { [weak self] in
            guard let self else { return }
            // A channel that nobody has bound to has no id; `Pusher.gaps` tells of its gaps all the same.
            let id = bindings.withLock { $0.sourceChannels[gap.channelName] } ?? .none
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
