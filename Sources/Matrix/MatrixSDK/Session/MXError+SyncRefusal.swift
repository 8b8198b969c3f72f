import MatrixProtocol

extension MXError {
    /// Whether a request for a sync was refused since the server does not know its `since`. Only `M_UNKNOWN_POS` says so by
    /// its code; Synapse says `M_UNKNOWN` and "Invalid stream token", Dendrite `M_INVALID_PARAM` and "malformed sync token".
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

    /// Whether it may have been refused for its filter: one that was named by an id, or is no filter.
    var refusesFilter: Bool {
        switch errcode {
        case Self.invalidParameter, kMXErrCodeStringNotFound, kMXErrCodeStringBadJSON, kMXErrCodeStringNotJSON:
            status == 400 || status == 404
        default: false
        }
    }
}
