import Basics
public import Foundation

/// Where events come from beside a client's own connection: the rooms of a Matrix session, a Pydio workspace.
///
/// A client that it is attached to delivers its events to the bindings and sequences that its own events reach, in the
/// order in which they are handed over.
public protocol RealtimeEventSource: AnyObject, Sendable {
    /// What the names of its channels start with: a word and a colon, such as `matrix:`. No channel of the Pusher
    /// protocol can be called so.
    var channelPrefix: String { get }

    /// Hands over what comes from now on, until it is detached. It does not keep `sink`.
    func attach(_ sink: any RealtimeEventSink)

    /// Hands over nothing more.
    func detach(_ sink: any RealtimeEventSink)

    /// Asks for no more events as long as `isHeld`: somebody behind `sink` reads too slowly. What is under way may still
    /// come. Detaching ends it.
    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink)
}

/// Who takes the events of a ``RealtimeEventSource``.
public protocol RealtimeEventSink: AnyObject, Sendable {
    /// Events in order.
    func receive(_ events: SourceEvents)

    /// Something went wrong; told once.
    func receive(_ failure: SourceFailure)

    /// Events of a channel did not come.
    func receive(_ gap: SourceGap)

    /// The source is in another state. Does nothing unless it is implemented.
    func receive(_ state: SourceState)

    /// All events that the source has before this position were handed over: it can go on from there. Sources without
    /// positions never tell. Does nothing unless it is implemented.
    func receive(reached position: String)
}

extension RealtimeEventSink {
    /// See ``RealtimeEventSink``.
    public func receive(_ state: SourceState) {}

    /// See ``RealtimeEventSink``.
    public func receive(reached position: String) {}
}

/// A state that a source has come to.
public struct SourceState: Sendable {
    /// The channel of the source as a whole.
    public let channelName: String
    /// What it is, as far as all sources have the same.
    public let connectionState: ConnectionState
    /// What it is to the source itself: a value of its own type, such as an `MXSessionState`.
    public let underlying: any Sendable

    /// See the properties.
    public init(channelName: String, connectionState: ConnectionState, underlying: any Sendable) {
        (self.channelName, self.connectionState, self.underlying) = (channelName, connectionState, underlying)
    }
}

/// What went wrong at a source. `message` holds no secrets and no payloads.
public struct SourceFailure: Sendable {
    /// One sentence for people.
    public let message: String
    /// The channel concerned; nil for the source as a whole.
    public let channelName: String?
    /// Whether the source tries again by itself.
    public let willRetry: Bool
    /// How long until it does, if that is known.
    public let retryAfter: Duration?
    /// The source's own error; nil if there is none.
    public let underlying: (any Error)?

    /// See the properties.
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

/// A time from which a channel's events did not come.
public struct SourceGap: Sendable, Hashable {
    /// The channel's name.
    public let channelName: String
    /// When something was heard last before it.
    public let start: Date
    /// When events came again.
    public let end: Date
    /// The source's token for the point where events came again: who asks for the events before it passes it. Nil if nobody can
    /// ask.
    package let endPosition: String?

    /// See the properties.
    public init(channelName: String, start: Date, end: Date) {
        self.init(channelName: channelName, start: start, end: end, endPosition: nil)
    }

    package init(channelName: String, start: Date, end: Date, endPosition: String?) {
        (self.channelName, self.start, self.end) = (channelName, start, end)
        self.endPosition = endPosition
    }
}
