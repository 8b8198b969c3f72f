import PydioProtocol
public import Realtime
import Basics

/// A call of a ``PydioClient`` under way. Its failure block is told of an end by ``RequestOperation/cancel()``.
public typealias PydioOperation = RequestOperation

extension RequestOperation {
    /// Runs `body`, and hands what it gives to one of the blocks on `queue`, once.
    static func start<Value: Sendable>(
        on queue: DispatchQueue, _ success: @escaping (Value) -> Void, _ failure: @escaping (PydioError) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> PydioOperation {
        let blocks = Blocks(success: success, failure: failure)
        let end = EndOfCall()
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

    private let report = Lock<StateReport?>(nil)

    func set(_ report: StateReport) {
        self.report.withLock { $0 = report }
    }

    func run() {
        report.withLock { $0 }?.end()
    }
}
