import Basics
public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Returns the bytes of the answer with everything new since `since`. Waits on the server for at most `timeout`.
    ///
    /// Tries only once: the caller that polls decides what to do when the connection fails.
    ///
    /// - Parameters:
    ///   - since: `next_batch` of an earlier answer; `nil` requests everything.
    ///   - filter: An id, or the JSON text of a filter.
    ///   - setPresence: `offline` leaves the user's presence unchanged.
    ///   - useStateAfter: Requests the state after the timeline. Not every server supports it.
    ///   - needsFreshConnection: Whether to avoid kept-alive connections, which may be dead.
    ///   - patience: The idle timeout in addition to `timeout`, at least ``MXRestClientOptions/requestTimeout``. An
    ///     answer may take any time as long as data keeps arriving.
    ///   - onProgress: Called on any thread occasionally while the answer arrives.
    /// - Returns: Limited to ``MXRestClientOptions/maximumSyncSize``.
    @concurrent
    public func sync(
        since: String? = nil, timeout: Duration = .zero, filter: String? = nil, setPresence: MXPresence? = nil,
        fullState: Bool = false, useStateAfter: Bool = true, needsFreshConnection: Bool = false,
        patience: Duration = .seconds(90), onProgress: (@Sendable (MXTransferProgress) -> Void)? = nil
    ) async throws -> [UInt8] {
        let timeout = timeout.bounded
        let milliseconds = timeout.wholeNanoseconds / 1_000_000
        var call = APICall(
            .get, "v3/sync",
            query: [
                ("since", since), ("timeout", String(milliseconds)), ("filter", filter),
                ("full_state", fullState ? "true" : nil),
                ("set_presence", setPresence == .unknown ? nil : setPresence?.rawValue),
                ("use_state_after", useStateAfter ? "true" : nil),
            ])
        call.survivesConnections = false
        call.needsFreshConnection = needsFreshConnection
        call.stallTimeout = timeout + max(homeserver.options.requestTimeout, patience).bounded
        call.maximumAnswerSize = homeserver.options.maximumSyncSize
        if let onProgress {
            call.onProgress = { onProgress(MXTransferProgress(completed: $0.received, total: $0.totalToReceive)) }
        }
        return try await perform(call)
    }

    /// Stores a filter on the server.
    ///
    /// - Returns: The filter's id.
    public func createFilter(_ filter: [String: Any]) async throws -> String {
        try await createFilter(EncodedJSON(filter))
    }

    package func createFilter(_ filter: EncodedJSON) async throws -> String {
        try await text("filter_id", of: APICall(.post, "v3/user/\(try userId())/filter", body: filter))
    }

    /// Returns a filter stored on the server.
    public func filter(withId filterId: String) async throws -> JSONView {
        try await json(APICall(.get, "v3/user/\(try userId())/filter/\(filterId)"))
    }
}
