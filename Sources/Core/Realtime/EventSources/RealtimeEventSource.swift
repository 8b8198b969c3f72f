import Basics
public import Foundation

/// A source of events other than a client's own connection, such as the rooms of a Matrix session or a Pydio workspace.
///
/// A client to which it is attached delivers its events to the same bindings and sequences as its own events, in the
/// order in which the source hands them over.
public protocol RealtimeEventSource: AnyObject, Sendable {
    /// The prefix of its channel names: a word and a colon, such as `matrix:`. No channel name of the Pusher protocol
    /// can start this way.
    var channelPrefix: String { get }

    /// Hands over new events to `sink` until it is detached. Does not retain `sink`.
    func attach(_ sink: any RealtimeEventSink)

    /// Stops handing over events to `sink`.
    func detach(_ sink: any RealtimeEventSink)

    /// Stops requesting events while `isHeld`, because a reader behind `sink` is too slow. Pending events may still
    /// arrive. Detaching releases the hold.
    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink)
}

/// A receiver of the events of a ``RealtimeEventSource``.
public protocol RealtimeEventSink: AnyObject, Sendable {
    /// Receives events in order.
    func receive(_ events: SourceEvents)

    /// Receives a failure; called once per failure.
    func receive(_ failure: SourceFailure)

    /// Receives a notice that events of a channel are missing.
    func receive(_ gap: SourceGap)

    /// Receives a new state of the source. The default implementation does nothing.
    func receive(_ state: SourceState)

    /// Receives a position up to which the source has handed over all events, and from which it can resume. Sources
    /// without positions never call this. The default implementation does nothing.
    func receive(reached position: String)
}

extension RealtimeEventSink {
    /// See ``RealtimeEventSink``.
    public func receive(_ state: SourceState) {}

    /// See ``RealtimeEventSink``.
    public func receive(reached position: String) {}
}

/// A state of a source.
public struct SourceState: Sendable {
    /// The channel of the source as a whole.
    public let channelName: String
    /// The state in terms that all sources share.
    public let connectionState: ConnectionState
    /// The state in the source's own type, such as an `MXSessionState`.
    public let underlying: any Sendable

    /// Creates a state; see the properties.
    public init(channelName: String, connectionState: ConnectionState, underlying: any Sendable) {
        (self.channelName, self.connectionState, self.underlying) = (channelName, connectionState, underlying)
    }
}

/// A failure of a source. `message` contains no secrets and no payloads.
public struct SourceFailure: Sendable {
    /// A sentence to show to people.
    public let message: String
    /// The channel concerned; nil for the source as a whole.
    public let channelName: String?
    /// Whether the source retries automatically.
    public let willRetry: Bool
    /// The time until the retry, if known.
    public let retryAfter: Duration?
    /// The source's own error; nil if there is none.
    public let underlying: (any Error)?

    /// Creates a failure; see the properties.
    public init(
        _ message: String, channelName: String? = nil, willRetry: Bool = false, retryAfter: Duration? = nil,
        underlying: (any Error)? = nil
    ) {
        self.message = PeerText(message).description
        self.channelName = channelName
        self.willRetry = willRetry
        self.retryAfter = retryAfter
        self.underlying = underlying
    }
}

/// A period from which events of a channel are missing.
public struct SourceGap: Sendable, Hashable {
    /// The channel's name.
    public let channelName: String
    /// The time at which data last arrived before the gap.
    public let start: Date
    /// The time at which events arrived again.
    public let end: Date
    /// The source's token for the point where events arrived again. Pass it to request the events before it; nil if
    /// they can't be requested.
    package let endPosition: String?

    /// Creates a gap; see the properties.
    public init(channelName: String, start: Date, end: Date) {
        self.init(channelName: channelName, start: start, end: end, endPosition: nil)
    }

    package init(channelName: String, start: Date, end: Date, endPosition: String?) {
        (self.channelName, self.start, self.end) = (channelName, start, end)
        self.endPosition = endPosition
    }
}
