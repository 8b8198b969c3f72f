import Foundation
import MatrixProtocol
import MatrixSDK

/// A download with several waiting callers. It is cancelled when the last caller stops waiting.
@MainActor
final class SharedDownload {
    private struct Waiter {
        let continuation: CheckedContinuation<Void, any Error>
        let onProgress: (@MainActor (MXTransferProgress) -> Void)?
    }

    private var waiters: [UUID: Waiter] = [:]
    private var task: Task<Void, Never>?
    private var result: Result<Void, any Error>?
    /// Called once, before the waiting callers resume.
    var whenOver: (@MainActor () -> Void)?

    init(
        _ download:
            @escaping @Sendable (_ onProgress: @escaping @Sendable (MXTransferProgress) -> Void) async throws -> Void
    ) {
        task = Task { [weak self] in
            let result: Result<Void, any Error>
            do {
                try await download { progress in
                    Task { @MainActor in self?.came(progress) }
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            self?.end(result)
        }
    }

    /// - Throws: `CancellationError` as soon as the caller's task is cancelled.
    func wait(_ onProgress: (@MainActor (MXTransferProgress) -> Void)?) async throws {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let result { return continuation.resume(with: result) }
                waiters[id] = Waiter(continuation: continuation, onProgress: onProgress)
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            Task { @MainActor in self.leave(id) }
        }
    }

    private func leave(_ id: UUID) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        if waiters.isEmpty {
            task?.cancel()
            end(.failure(CancellationError()))
        }
        waiter.continuation.resume(throwing: CancellationError())
    }

    private func came(_ progress: MXTransferProgress) {
        for waiter in waiters.values { waiter.onProgress?(progress) }
    }

    private func end(_ result: Result<Void, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        whenOver?()
        whenOver = nil
        let waiting = waiters.values
        waiters = [:]
        for waiter in waiting { waiter.continuation.resume(with: result) }
    }
}
