import Basics
public import Foundation
public import Realtime
import RelayProtocol

/// A source of the events of some units: channels of an application, an account, a workspace.
///
/// A relay starts a unit when it owns it, and stops it before another relay takes it. Calls for the same unit never
/// overlap.
public protocol RelaySource: AnyObject, Sendable {
    /// The units, which must be the same on every relay that shares the work: `pusher:<app>:<channel>`,
    /// `matrix:<user>`, `pydio:<workspace>`.
    var units: [String] { get }

    /// Whether events that arrived while nobody was listening can be fetched later by position, as with Matrix and
    /// Pydio. If not, a unit of a relay that leaves is started on the next one before it stops there.
    var hasHistory: Bool { get }

    /// The time up to which everything sent for started units has arrived; nil if that is always now. Data that a
    /// silent or lost connection may lack counts as not arrived.
    var completeTime: Date? { get }

    /// Returns whether everything sent for a unit until now has arrived and gone into its inlet. Called before the unit
    /// stops for another relay that is already listening; if false, that relay reports a gap. Also called every second
    /// after a hold, for any unit of the source, until it returns true.
    func hasHeardAll(of unit: String) async -> Bool

    /// Starts delivering events of a unit; returns once nothing more is missed.
    ///
    /// - Parameters:
    ///   - position: The position in the source's stream up to which everything is relayed. If nil, nothing was relayed
    ///     yet or the source has no positions; then it starts with new events.
    ///   - inlet: Receives the events, in order.
    /// - Throws: The reason why the unit could not be started. The relay retries.
    func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws

    /// Stops a unit; returns when nothing more goes into its inlet.
    func stop(_ unit: String) async

    /// Stops requesting events while `isHeld`, because the stream accepts none.
    func hold(_ isHeld: Bool)
}

extension RelaySource {
    /// False by default.
    public var hasHistory: Bool { false }

    /// `nil` by default.
    public var completeTime: Date? { nil }

    /// True by default.
    public func hasHeardAll(of unit: String) async -> Bool { true }
}

/// Receives the events of a unit while the relay owns it.
public struct RelayInlet: Sendable {
    private let core: RelayCore
    let unit: String
    let run: Int

    init(_ core: RelayCore, _ unit: String, run: Int) {
        (self.core, self.unit, self.run) = (core, unit, run)
    }

    /// Receives an event.
    ///
    /// - Parameter id: An ID that is unique within this kind of source and the same for every reader of the event, so
    ///   that the stream keeps one copy of a repeated event. Nil for events without IDs.
    public func receive(_ event: RealtimeEvent, id: String? = nil) { receive([(event, id)]) }

    /// Receives several events, in order. This is much cheaper than one at a time.
    public func receive(_ events: [(event: RealtimeEvent, id: String?)]) {
        let time = Date().milliseconds
        core.receive(events.map { item(.event($0.event, id: $0.id), time) })
    }

    /// Receives a notice that events of a channel are missing.
    ///
    /// - Parameter reason: A word for readers.
    public func receiveGap(channel: String?, start: Date, end: Date, reason: String) {
        let gap = RelayGap(channel: channel, start: start.milliseconds, end: end.milliseconds, reason: reason)
        core.receive([item(.gap(gap), gap.end)])
    }

    /// Receives a position up to which the source has delivered everything, and from which any relay resumes.
    public func reached(_ position: String) { core.reached(position, from: self) }

    /// Receives a failure of the source.
    public func fail(_ message: String, willRetry: Bool) {
        core.report(.sourceFailed(unit: unit, message: PeerText(message).description, willRetry: willRetry))
    }

    /// Passes on events of several inlets together.
    static func receive(_ events: [(inlet: RelayInlet, event: RealtimeEvent)]) {
        guard let core = events.first?.inlet.core else { return }
        let time = Date().milliseconds
        core.receive(events.map { $0.inlet.item(.event($0.event, id: nil), time) })
    }

    private func item(_ content: RelayItem.Content, _ time: Int64) -> RelayItem {
        RelayItem(unit: unit, run: run, content: content, time: time)
    }
}

extension Date {
    /// Since 1970.
    var milliseconds: Int64 { Int64(clamping: (timeIntervalSince1970 * 1000).rounded()) }
}

extension Int64 {
    fileprivate init(clamping seconds: Double) {
        self = seconds.isFinite ? Int64(Swift.max(Swift.min(seconds, 1e18), -1e18)) : 0
    }
}
