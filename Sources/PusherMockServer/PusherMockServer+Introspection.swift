import NIOCore

extension PusherMockServer {
    /// What the server knows now.
    public var state: State {
        get async { await onEventLoop { $0.state } }
    }

    /// Waits until `condition` holds, looking whenever something happened at the server.
    ///
    /// - Returns: false if it did not within `bound`, if the server was stopped or the task cancelled.
    public func waitFor(
        within bound: Duration = .seconds(30), _ condition: @escaping @Sendable (State) -> Bool
    ) async -> Bool {
        let promise = makePromise(of: Bool.self)
        await onEventLoop { $0.wait(promise, until: condition, atMost: bound) }
        return await withTaskCancellationHandler {
            (try? await promise.futureResult.get()) ?? false
        } onCancel: {
            promise.succeed(false)
        }
    }

    /// The log as it grows, starting with the entries still kept.
    ///
    /// Each call gives an independent sequence, for one iterator; it ends when the server stops. A consumer that falls
    /// more than 65,536 entries behind misses the oldest.
    public func log() -> AsyncStream<LogEntry> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LogEntry.self, bufferingPolicy: .bufferingNewest(65_536))
        execute { core in
            guard !core.isStopped else { return continuation.finish() }
            let id = core.eventLog.add(follower: continuation)
            continuation.onTermination = { [weak self] _ in
                self?.execute { $0.eventLog.remove(follower: id) }
            }
        }
        return stream
    }
}
