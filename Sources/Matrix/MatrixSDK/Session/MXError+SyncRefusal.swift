import MatrixProtocol

extension MXError {
    /// Whether the server refused a sync because it does not know the request's `since`. Only `M_UNKNOWN_POS` is
    /// unambiguous; Synapse sends `M_UNKNOWN` and "Invalid stream token", Dendrite `M_INVALID_PARAM` and "malformed
    /// sync token".
    var refusesSyncToken: Bool {
        guard status == 400 else { return false }
        switch errcode {
        case kMXErrCodeStringUnknownPosition: return true
        case kMXErrCodeStringUnknown, Self.invalidParameter:
            let words = error.lowercased()
            return words.contains("token") || words.contains("since")
        default: return false
        }
    }

    private static let invalidParameter = "M_INVALID_PARAM"

    /// Whether the filter may be the reason: an id that the server does not accept, or an invalid filter.
    var refusesFilter: Bool {
        switch errcode {
        case Self.invalidParameter, kMXErrCodeStringNotFound, kMXErrCodeStringBadJSON, kMXErrCodeStringNotJSON:
            status == 400 || status == 404
        default: false
        }
    }
}
