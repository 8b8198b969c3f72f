/// The direction of reading a timeline.
public enum MXTimelineDirection: Sendable, Hashable {
    /// Towards newer events.
    case forwards
    /// Towards older events.
    case backwards
}
