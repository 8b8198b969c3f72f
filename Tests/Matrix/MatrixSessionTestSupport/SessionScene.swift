import Basics
package import MatrixSDK
package import MatrixTestSupport
import TestSupport

/// A homeserver that answers syncs from a script, and a session on it.
package final class SessionScene: Sendable {
    package let server: FakeHomeserver
    package let session: MXSession
    private struct Script {
        var answers: [FakeAnswer] = []
        /// Whether a poll is pending without an answer.
        var isPolled = false
    }

    private let state = Lock(Script())

    package init(store: (any MXStore)? = nil, _ change: (inout MXSessionOptions) -> Void = { _ in }) async throws {
        server = try await FakeHomeserver.start()
        var options = MXSessionOptions()
        options.reconnectPolicy = .exponential(base: .milliseconds(5), maximumDelay: .milliseconds(50))
        change(&options)
        session = MXSession(matrixRestClient: MXRestClient.make(server), options: options)
        if let store { try session.setStore(store) }
        let state = state
        server.on("GET", "v3/sync") { _ in
            state.withLock { state in
                state.isPolled = state.answers.isEmpty
                return state.isPolled ? .silence : state.answers.removeFirst()
            }
        }
    }

    /// Adds answers for the next polls; later polls stay pending.
    package func script(_ answers: FakeAnswer...) { state.withLock { $0.answers += answers } }

    /// Returns when a poll is pending without an answer.
    package func isPolled() async -> Bool { await eventually { self.state.withLock { $0.isPolled } } }

    /// Replaces the pending poll by one that gets an answer.
    package func next(_ answers: FakeAnswer...) async {
        _ = await isPolled()
        state.withLock { $0.answers += answers }
        session.reconnect()
    }

    package var polls: [FakeRequest] { server.requests("GET", "v3/sync") }
}

extension Sync {
    /// An answer with the token to continue from.
    package static func answer(_ token: String, _ more: String = "") -> FakeAnswer {
        .json(#"{"next_batch":"\#(token)"\#(more.isEmpty ? "" : ",")\#(more)}"#)
    }
}
