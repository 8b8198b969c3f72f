import Basics
public import Foundation
public import Realtime
import RelayProtocol

/// Where the events of some units come from: channels of an application, an account, a workspace.
///
/// A relay starts a unit when it owns it, and stops it when another relay is to; the calls for one unit come one after the
/// other.
public protocol RelaySource: AnyObject, Sendable {
    /// The same on every relay that shares the work: `pusher:<app>:<channel>`, `matrix:<user>`, `pydio:<workspace>`.
    var units: [String] { get }

    /// Whether events that came while nobody listened can be had later: by positions, as of Matrix and Pydio. If not, a unit of
    /// a relay that leaves is started on the next one before it stops there.
    var hasHistory: Bool { get }

    /// Up to when all that was sent for units that are started has come; nil if that is always up to now. What a connection
    /// that is silent or lost may lack counts as not come.
    var completeTime: Date? { get }

    /// Whether everything that was sent for a unit until now has come, and has gone into its inlet. Asked before the unit stops for
    /// another relay that listens already: if not, that one tells a gap. And asked each second after a hold, for any unit of the
    /// source, until it has.
    func hasHeardAll(of unit: String) async -> Bool

    /// Lets events of a unit come; returns once nothing more is missed.
    ///
    /// - Parameters:
    ///   - position: Of the stream of the source, up to which all is relayed; nil if nothing was yet, or the source has no
    ///     positions: then it begins with what comes from now on.
    ///   - inlet: Takes the events, in order.
    /// - Throws: Why there are none. It is tried again.
    func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws

    /// Returns when nothing more of the unit goes into its inlet.
    func stop(_ unit: String) async

    /// Asks for no more events as long as `isHeld`: the stream takes none.
    func hold(_ isHeld: Bool)
}

extension RelaySource {
    /// False.
    public var hasHistory: Bool { false }

    /// Nil.
    public var completeTime: Date? { nil }

    /// True.
    public func hasHeardAll(of unit: String) async -> Bool { true }
}

/// Takes what comes of one unit, for as long as the relay owns it.
public struct RelayInlet: Sendable {
    private let core: RelayCore
    let unit: String
    let run: Int

    init(_ core: RelayCore, _ unit: String, run: Int) {
        (self.core, self.unit, self.run) = (core, unit, run)
    }

    /// An event.
    ///
    /// - Parameter id: What nothing else of this kind of source is called, and what this event is called whoever reads it: of a
    ///   repeated one the stream keeps one copy. Nil where events have no ids.
    public func receive(_ event: RealtimeEvent, id: String? = nil) { receive([(event, id)]) }

    /// Several events, in order. This is much cheaper than one by one.
    public func receive(_ events: [(event: RealtimeEvent, id: String?)]) {
        let time = Date().milliseconds
        core.receive(events.map { item(.event($0.event, id: $0.id), time) })
    }

    /// Events of a channel did not come.
    ///
    /// - Parameter reason: One word, for readers.
    public func receiveGap(channel: String?, start: Date, end: Date, reason: String) {
        let gap = RelayGap(channel: channel, start: start.milliseconds, end: end.milliseconds, reason: reason)
        core.receive([item(.gap(gap), gap.end)])
    }

    /// All that the source has before this position was given: whoever goes on, goes on from there.
    public func reached(_ position: String) { core.reached(position, from: self) }

    /// Something went wrong at the source.
    public func fail(_ message: String, willRetry: Bool) {
        core.report(.sourceFailed(unit: unit, message: PeerText(message).description, willRetry: willRetry))
    }

    /// Events of several inlets in one go.
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
