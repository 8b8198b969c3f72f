import Basics
import CurlTransport
import Foundation
public import PusherSwift
import Realtime

/// Channels of a Pusher application. Each is a unit: `pusher:<app>:<channel>`.
///
/// The protocol has neither IDs nor history, so events that are sent without a subscription are reported as a gap.
public final class PusherRelaySource: RelaySource {
    private struct State: Sendable {
        var inlets: [String: RelayInlet] = [:]
        var tasks: [Task<Void, Never>] = []
        var completeness = Completeness()
        /// The events, once reading has started, and the number of batches passed on.
        var events: EventSequence<PusherEvent>?
        var batches = 0
    }

    private let pusher: Pusher
    private let prefix: String
    private let channels: [String]
    private let state = Lock(State())
    private let gate = HoldGate()
    private let standstills = Lock(StandstillRecord(at: Date()))

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - pusher: A client that is used for nothing else. It connects when there is something to relay.
    ///   - app: The name of the application in subjects and units: its ID or key.
    public init(_ pusher: Pusher, app: String, channels: [String]) {
        self.pusher = pusher
        prefix = "pusher:\(app):"
        self.channels = channels
    }

    deinit { state.withLock { $0.tasks }.forEach { $0.cancel() } }

    /// The units of the channels.
    public var units: [String] { channels.map { prefix + $0 } }

    /// The time at which the connection last received data or was lost.
    public var completeTime: Date? {
        let now = MonotonicInstant.now
        let instant = pusher.completeUntil
        return state.withLock { state in
            state.completeness.add(instant, now: now)
            return state.completeness.oldest.map { Date(timeIntervalSinceNow: ($0 - now) / .seconds(1)) }
        }
    }

    /// Subscribes to the channel.
    public func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {
        let name = String(unit.dropFirst(prefix.count))
        _ = state.withLock { $0.inlets.updateValue(inlet, forKey: name) }  // the old one is released after the lock
        listen()
        pusher.connect()
        try await pusher.subscribe(name).subscribed()
    }

    /// Unsubscribes from the channel.
    public func stop(_ unit: String) async {
        let name = String(unit.dropFirst(prefix.count))
        let (old, isIdle) = state.withLock { state in
            (state.inlets.removeValue(forKey: name), state.inlets.isEmpty)
        }
        guard old != nil else { return }
        pusher.unsubscribe(name)
        if isIdle { pusher.disconnect() }
    }

    /// The time for the server to answer a ping.
    private static let pingLimit = Duration.seconds(2)

    /// Pings the server: everything it sent before its answer has then arrived.
    public func hasHeardAll(of unit: String) async -> Bool {
        let name = String(unit.dropFirst(prefix.count))
        guard pusher.channel(name)?.subscribed == true else { return false }
        let ping = Task { try await pusher.connection.ping() }
        let limit = Task {
            try await Task.sleep(for: Self.pingLimit)
            ping.cancel()
        }
        defer { limit.cancel() }
        guard (try? await ping.value) != nil, await haveWaitingGoneOn() else { return false }
        return pusher.channel(name)?.subscribed == true && !gate.isHeld
    }

    private static let look = Duration.milliseconds(5)

    /// Returns true when all received events are in the inlets, or false if that takes too long.
    private func haveWaitingGoneOn() async -> Bool {
        let (events, before) = state.withLock { ($0.events, $0.batches) }
        guard let events else { return true }
        // Waiting batches and the current one.
        let wanted = before + events.waitingCount / Self.batchLimit + 2
        let end = MonotonicInstant.now + Self.pingLimit
        while !events.isAwaited, state.withLock({ $0.batches }) < wanted {
            guard .now < end, (try? await Task.sleep(for: Self.look)) != nil else { return false }
        }
        return true
    }

    /// Leaves incoming events unread, so that the socket is not read any more once the buffer is full.
    public func hold(_ isHeld: Bool) { gate.hold(isHeld) }

    // MARK: Incoming events

    /// The maximum number of events that are passed on together.
    private static var batchLimit: Int { 256 }

    private func listen() {
        state.withLock { state in
            guard state.tasks.isEmpty else { return }
            standstills.withLock { $0 = StandstillRecord(at: Date()) }
            let (events, gaps, errors) = (pusher.events(), pusher.gaps, pusher.errors)
            state.events = events
            state.tasks = [
                Task { [weak self] in
                    var iterator = events.makeAsyncIterator()
                    while let batch = await iterator.nextBatch(limit: Self.batchLimit) {
                        guard let self else { return }
                        await gate.waitUntilReleased()
                        take(batch)
                    }
                },
                Task { [weak self] in
                    for await gap in gaps { self?.take(gap) }
                },
                Task { [weak self] in
                    for await error in errors { self?.take(error) }
                },
                Task { [weak self] in
                    while !Task.isCancelled, let self {
                        standstills.withLock { $0.tick(at: Date()) }
                        try? await Task.sleep(for: .seconds(StandstillRecord.interval))
                    }
                },
            ]
        }
    }

    private func inlet(_ channel: String?) -> RelayInlet? {
        channel.flatMap { name in state.withLock { $0.inlets[name] } }
    }

    private func take(_ events: [PusherEvent]) {
        let inlets = state.withLock { $0.inlets }
        defer { state.withLock { $0.batches += 1 } }
        RelayInlet.receive(
            events.compactMap { event in
                guard let inlet = event.channelName.flatMap({ inlets[$0] }) else { return nil }
                // The protocol's own messages about the channel are not events.
                let isEvent = !event.eventName.hasPrefix("pusher:") && !event.eventName.hasPrefix("pusher_internal:")
                return isEvent ? (inlet, event) : nil
            })
    }

    private func take(_ gap: PusherGap) {
        let start = standstills.withLock { record in
            record.tick(at: Date())
            return record.earliestReceipt(ofReadAt: gap.start)
        }
        inlet(gap.channelName)?.receiveGap(channel: gap.channelName, start: start, end: gap.end, reason: "connection")
    }

    private func take(_ error: PusherError) {
        guard let inlet = inlet(error.channelName) else { return }
        inlet.fail(error.message, willRetry: error.willRetry)
    }
}

/// Recent values of a client's `ClientMachine.completeUntil`. The oldest one applies: when a gap has ended, its notice
/// may still be on its way here.
struct Completeness: Sendable {
    private static let noticeTime = Duration.seconds(1)

    private var samples: [(time: MonotonicInstant, instant: MonotonicInstant?)] = []

    /// `nil` if there was no subscription.
    var oldest: MonotonicInstant? { samples.compactMap(\.instant).min() }

    mutating func add(_ instant: MonotonicInstant?, now: MonotonicInstant) {
        samples.append((now, instant))
        // The last one before the limit was valid until then.
        while samples.count > 1, now - samples[1].time >= Self.noticeTime { samples.removeFirst() }
    }
}
