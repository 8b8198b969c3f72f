public import Realtime

/// A period in which a channel may have missed events: it was not subscribed, or its source could not fetch them.
public typealias PusherGap = SourceGap
