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
    /// Each call gives an independent sequence, for one iterator; it ends when the server stops. A consumer that falls more
    /// than 65,536 entries or 16 MiB behind misses the oldest, and reads ``LogEntry/missed(count:)`` in their place.
    ///
    /// - Parameter isIncluded: Which entries are wanted; called on the server's event loop. Default: all.
    public func log(
        where isIncluded: @escaping @Sendable (LogEntry) -> Bool = { _ in true }
    ) -> AsyncStream<LogEntry> {
        let reading = follow(limit: 65_536, maximumSize: 16 << 20, where: isIncluded)
        return AsyncStream { await reading.follower.next()?.entry }
    }

    /// The same with the time of each entry, and other bounds.
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

/// Lives as long as the sequence that reads; then the server forgets its reader.
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
