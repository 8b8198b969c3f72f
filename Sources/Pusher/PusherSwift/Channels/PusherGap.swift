public import Realtime

/// A time in which a channel may have missed events: it was not subscribed, or its source could not ask.
public typealias PusherGap = SourceGap
