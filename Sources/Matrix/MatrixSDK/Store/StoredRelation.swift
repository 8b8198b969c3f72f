import JSONBytes
import MatrixProtocol

extension MXEvent {
    /// The event named in `m.relates_to`, which encrypted events have in the clear.
    var storedRelation: String? { wireContent["m.relates_to"]?["event_id"]?.string }
}
