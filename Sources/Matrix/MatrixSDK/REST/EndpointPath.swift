import MatrixProtocol
import Transport

/// The path of an endpoint. What is interpolated is one piece each, percent-encoded whole:
///
///     "v3/rooms/\(roomId)/state/\(type)/\(orEmpty: stateKey)"
///
/// Without a leading `/` it lies below `/_matrix/client/`.
struct EndpointPath: ExpressibleByStringInterpolation, Sendable {
    let text: String
    /// The path without what was interpolated, for messages.
    let template: String
    /// Whether a piece is one that no server would take for itself: empty, `.` or `..`.
    let isUsable: Bool

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var template = ""
        fileprivate var isUsable = true

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 48 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
            template += literal
        }

        mutating func appendInterpolation(_ piece: String) {
            template += "…"
            guard let segment = PathSegment(piece) else {
                isUsable = false
                return
            }
            text += segment.escaped
        }

        mutating func appendInterpolation(orEmpty piece: String) {
            if piece.isEmpty { template += "…" } else { appendInterpolation(piece) }
        }
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text.belowClientAPI
        template = stringInterpolation.template
        isUsable = stringInterpolation.isUsable
    }

    init(stringLiteral value: String) {
        text = value.belowClientAPI
        template = value
        isUsable = true
    }
}

extension String {
    fileprivate var belowClientAPI: String { hasPrefix("/") ? self : "/_matrix/client/" + self }
}
