import Basics
import PydioProtocol
public import Realtime

/// A running call of a ``PydioClient``. ``RequestOperation/cancel()`` ends it and calls its failure block.
public typealias PydioOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and passes its result to one of the blocks on `queue`, once.
    ///
    /// - Parameter report: Counts the call from now until its block has run.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ report: StateReport, _ success: @escaping (Value) -> Void,
        _ failure: @escaping (PydioError) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> PydioOperation {
        let blocks = Blocks(success: success, failure: failure)
        let end = EndOfCall(report)
        return start {
            let result = await EndOfCall.$current.withValue(end) { () -> Result<Value, PydioError> in
                do {
                    return .success(try await body())
                } catch {
                    return .failure(PydioError(any: error))
                }
            }
            queue.async {
                switch result {
                case .success(let value): blocks.success(value)
                case .failure(let error): blocks.failure(error)
                }
                end.run()
            }
        }
    }
}

/// `@unchecked Sendable`: the closures are only passed to their queue, and called only there.
private struct Blocks<Value>: @unchecked Sendable {
    let success: (Value) -> Void
    let failure: (PydioError) -> Void
}

/// The end of a call with blocks: it is not finished before its block has run.
final class EndOfCall: Sendable {
    /// The end of the current task's call; `nil` if it is not a call with blocks.
    @TaskLocal static var current: EndOfCall?

    private let report: StateReport
    /// Whether a state was reported for the call, as for every call that makes a request.
    private let hasBegun = Lock(false)

    init(_ report: StateReport) {
        self.report = report
        report.enter()
    }

    /// - Returns: False if the call belongs to another client.
    func begin(_ state: PydioClientState, of report: StateReport) -> Bool {
        guard report === self.report else { return false }
        hasBegun.withLock { $0 = true }
        report.set(state)
        return true
    }

    func run() {
        if hasBegun.withLock({ $0 }) { report.end() } else { report.leave() }
    }
}
