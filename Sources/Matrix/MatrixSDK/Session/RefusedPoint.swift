import MatrixProtocol

/// Counts how often the server refused a point of the stream with an unknown error.
///
/// Such a refusal may have any cause, so the point is kept. But if the point is the cause, only starting over helps.
/// The server decides: occasionally it is asked without the point. Only if it answers that request is the point
/// forgotten.
struct RefusedPoint: Sendable {
    /// Equal refusals after which the server is asked without the point.
    private static let patience = 5

    private var refusal: Refusal?
    private var count = 0

    private struct Refusal: Equatable {
        let point: String
        let status: Int
        let errcode: String
    }

    /// Whether to make the next request without the point.
    var isDoubtful: Bool { count >= Self.patience }

    mutating func refused(_ point: String, _ error: MXError) {
        guard (400..<500).contains(error.status), ![401, 403, 429].contains(error.status) else { return }
        let new = Refusal(point: point, status: error.status, errcode: error.errcode)
        if refusal != new { (refusal, count) = (new, 0) }
        count += 1
    }

    /// The server accepted the point, or refuses requests without it as well.
    mutating func forget() { (refusal, count) = (nil, 0) }
}
