import JSONBytes
import MatrixProtocol

extension MXEvent {
    /// The event that its `m.relates_to` names, which encrypted events say openly.
    var storedRelation: String? { wireContent["m.relates_to"]?["event_id"]?.string }
}
