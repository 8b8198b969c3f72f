import Basics
import PydioProtocol
public import Realtime

/// A call of a ``PydioClient`` under way. Its failure block is told of an end by ``RequestOperation/cancel()``.
public typealias PydioOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and hands what it gives to one of the blocks on `queue`, once.
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

/// `@unchecked Sendable`: the closures are only carried to the queue that they were made for, and called only there.
private struct Blocks<Value>: @unchecked Sendable {
    let success: (Value) -> Void
    let failure: (PydioError) -> Void
}

/// What ends a call with blocks: it is not over before its block has run.
final class EndOfCall: Sendable {
    /// Of the call that this task makes; nil if it is not one with blocks.
    @TaskLocal static var current: EndOfCall?

    private let report: StateReport
    /// Whether a state was told of it, as of every call that comes to a request.
    private let hasBegun = Lock(false)

    init(_ report: StateReport) {
        self.report = report
        report.enter()
    }

    /// - Returns: False if it is a call of another client.
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
