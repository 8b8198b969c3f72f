import MatrixProtocol

/// Counts how often a point of the stream was refused with an error of which nothing is known.
///
/// Such a refusal may be due to anything, so that the point is kept. If it is the point all the same, nothing else helps
/// than to begin anew. The server itself says which: now and then it is asked without the point. Only if it answers that
/// is the point forgotten.
struct RefusedPoint: Sendable {
    /// Refusals with the same error after which the server is asked without the point.
    private static let patience = 5

    private var refusal: Refusal?
    private var count = 0

    private struct Refusal: Equatable {
        let point: String
        let status: Int
        let errcode: String
    }

    /// Whether the next request is to be made without the point.
    var isDoubtful: Bool { count >= Self.patience }

    mutating func refused(_ point: String, _ error: MXError) {
        guard (400..<500).contains(error.status), ![401, 403, 429].contains(error.status) else { return }
        let new = Refusal(point: point, status: error.status, errcode: error.errcode)
        if refusal != new { (refusal, count) = (new, 0) }
        count += 1
    }

    /// The point was taken, or the server refuses requests without it as well.
    mutating func forget() { (refusal, count) = (nil, 0) }
}
