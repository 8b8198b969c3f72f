import PydioProtocol
import PydioSDK
import Realtime

/// Syncs repeatedly: when the server reports a change, and when the local folder looks changed.
struct FolderWatch {
    private let session: SyncSession
    private let local: LocalFolder
    private let remote: RemoteFolder
    private let events: PydioWorkspaceEvents
    private let options: PydioSyncOptions
    private let report: @Sendable (PydioSyncEvent) -> Void

    private static let longestDelay = Duration.seconds(60)
    private static let quietTime = Duration.milliseconds(200)

    init(
        _ session: SyncSession, _ local: LocalFolder, _ remote: RemoteFolder, _ options: PydioSyncOptions,
        _ report: @escaping @Sendable (PydioSyncEvent) -> Void
    ) {
        (self.session, self.local, self.remote) = (session, local, remote)
        (self.options, self.report) = (options, report)
        var events = options.events
        events.maximumNodes = 0  // the sync lists it itself
        events.callbackQueue = events.callbackQueue ?? .queue(DispatchQueue(label: "pydio.sync"))
        self.events = PydioWorkspaceEvents(
            client: remote.client, workspaceId: remote.workspaceId, options: events)
    }

    func run() async throws {
        // One notification is enough for any number of changes.
        let (stream, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        events.observe {
            _ in
            change.yield()
        } others: { notice in
            switch notice {
            case .gap, .stateChanged: change.yield()
            case .events, .failed, .reached: break
            }
        }
        events.start()
        defer { events.close() }
        var changes = stream.makeAsyncIterator()
        var delay = Duration.seconds(1)
        while true {
            do {
                // The user may have lost the workspace.
                try await remote.check()
                let summary = try await session.run()
                delay = .seconds(1)
                report(.settled(summary))
                try await wait(for: &changes, change)
            } catch let error as PydioError where error.isRetryable && error.code != .cancelled {
                report(.failed(error, retryAfter: delay))
                try await Task.sleep(for: delay)
                delay = min(delay * 2, Self.longestDelay)
            }
        }
    }

    private func wait(
        for changes: inout AsyncStream<Void>.Iterator, _ change: AsyncStream<Void>.Continuation
    ) async throws {
        let before = await session.scanned
        async let _: Void = rescan(before, change)
        _ = await changes.next(isolation: #isolation)
        try Task.checkCancellation()
        // Changes often come in groups.
        try await Task.sleep(for: Self.quietTime)
    }

    private func rescan(_ before: [SyncPath: SyncNode], _ change: AsyncStream<Void>.Continuation) async {
        while (try? await Task.sleep(for: options.rescanInterval)) != nil {
            // Leave it to the run to report a folder that can no longer be read.
            if (try? hasChanged(since: before)) != false { change.yield() }
        }
    }

    private func hasChanged(since before: [SyncPath: SyncNode]) throws -> Bool {
        let now = try local.scan(nil).nodes
        return now.count != before.count || now.contains { before[$0.key]?.hasSameStamp(as: $0.value) != true }
    }
}
