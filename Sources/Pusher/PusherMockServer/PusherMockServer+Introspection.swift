import NIOCore

extension PusherMockServer {
    /// The current state of the server.
    public var state: State {
        get async { await onEventLoop { $0.state } }
    }

    /// Waits until `condition` holds, checking it whenever something happens at the server.
    ///
    /// - Returns: False if it does not hold within `bound`, or if the server is stopped or the task is cancelled.
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

    /// Returns the log as it grows, starting with the stored entries.
    ///
    /// Each call returns an independent sequence, for one iterator; it ends when the server stops. A consumer that
    /// falls more than 65,536 entries or 16 MiB behind misses the oldest, and receives ``LogEntry/missed(count:)``
    /// instead.
    ///
    /// - Parameter isIncluded: A filter of entries, called on the server's event loop. Default: all entries.
    public func log(
        where isIncluded: @escaping @Sendable (LogEntry) -> Bool = { _ in true }
    ) -> AsyncStream<LogEntry> {
        let reading = follow(limit: 65_536, maximumSize: 16 << 20, where: isIncluded)
        return AsyncStream { await reading.follower.next()?.entry }
    }

    /// Like `log`, but with the time of each entry and other limits.
    package func timedLog(
        limit: Int, maximumSize: Int, where isIncluded: @escaping @Sendable (LogEntry) -> Bool
    ) -> AsyncStream<TimedLogEntry> {
        let reading = follow(limit: limit, maximumSize: maximumSize, where: isIncluded)
        return AsyncStream { await reading.follower.next() }
    }

    private func follow(
        limit: Int, maximumSize: Int, where isIncluded: @escaping @Sendable (LogEntry) -> Bool
    ) -> LogReading {
        let follower = LogFollower(limit: limit, maximumSize: maximumSize, where: isIncluded)
        execute { core in
            guard !core.isStopped else { return follower.finish() }
            core.eventLog.add(follower: follower)
        }
        return LogReading(follower: follower, server: self)
    }
}

/// Lives as long as the sequence; when it is released, the server removes the reader.
private final class LogReading: Sendable {
    let follower: LogFollower
    private let server: PusherMockServer

    init(follower: LogFollower, server: PusherMockServer) {
        self.follower = follower
        self.server = server
    }

    deinit {
        server.execute { [follower] in $0.eventLog.remove(follower: follower) }
    }
}
