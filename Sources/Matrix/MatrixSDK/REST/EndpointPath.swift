import MatrixProtocol
import Transport

/// The path of an endpoint. Each interpolated value becomes a single, percent-encoded path segment:
///
///     "v3/rooms/\(roomId)/state/\(type)/\(orEmpty: stateKey)"
///
/// Without a leading `/`, the path is relative to `/_matrix/client/`.
struct EndpointPath: ExpressibleByStringInterpolation, Sendable {
    let text: String
    /// The path without its interpolated values, for messages.
    let template: String
    /// Whether every segment can be sent: none is empty, `.` or `..`, which no server would take literally.
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
