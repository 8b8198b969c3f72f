/// Which way a timeline is read.
public enum MXTimelineDirection: Sendable, Hashable {
    /// Towards newer events.
    case forwards
    /// Towards older events.
    case backwards
}
