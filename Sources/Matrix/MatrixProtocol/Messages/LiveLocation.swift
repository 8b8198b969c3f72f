import Basics
import JSONBytes

/// A live location event (MSC3489, in its unstable form MSC3672).
package enum LiveLocation: Hashable, Sendable {
    /// The sender has started sharing their location for this duration.
    case began(description: String?, duration: Duration?)
    /// The sender has stopped sharing.
    case ended
    /// The sender's current location; `uri` is a `geo:` URI.
    case moved(uri: String, description: String?)
}

extension MXEvent {
    /// The live location; `nil` if the event is malformed, redacted, or made on behalf of another user.
    package var liveLocation: LiveLocation? {
        guard !isRedacted else { return nil }
        let content = contentJSON
        switch type {
        case "m.beacon_info", "org.matrix.msc3672.beacon_info":
            guard isState, stateKey?.isExactly(sender) == true, let isLive = content["live"]?.bool else { return nil }
            guard isLive else { return .ended }
            let duration = content["timeout"]?.wholePart.map { Duration.milliseconds($0) }
            return .began(
                description: content["description"]?.string, duration: duration.flatMap { $0 > .zero ? $0 : nil })
        case "m.beacon", "org.matrix.msc3672.beacon":
            let location = content["m.location"] ?? content["org.matrix.msc3488.location"]
            guard !isState, let uri = location?["uri"]?.string, MatrixMessageContent.isGeoURI(uri) else { return nil }
            return .moved(uri: uri, description: location?["description"]?.string)
        default: return nil
        }
    }
}
