import Foundation
import MatrixProtocol
public import MatrixSDK

/// Reports the contents and their changes.
extension MXKRoomDataSource {
    /// Marks the events received since the last call as seen.
    public func resetServerSyncEventCount() {
        guard serverSyncEventCount > 0 else { return }
        serverSyncEventCount = 0
        NotificationCenter.default.post(name: .mxkRoomDataSourceSyncStatusChanged, object: self)
    }

    /// The pictures and videos of its events, oldest first.
    public var attachmentsWithThumbnail: [MXKAttachment] {
        list.cells.compactMap { cell in
            guard let bubble = cell as? any MXKRoomBubbleCellDataStoring, bubble.isAttachmentWithThumbnail else {
                return nil
            }
            return bubble.attachment
        }
    }

    /// A stream of the changes that the delegate receives. It ends with ``destroy()``.
    public var changes: AsyncStream<MXKCellChanges?> {
        AsyncStream { continuation in
            guard !isDestroyed else { return continuation.finish() }
            let id = UUID()
            changesContinuations[id] = continuation
            continuation.onTermination = { [weak self] _ in
                Task { @MainActor in self?.changesContinuations[id] = nil }
            }
        }
    }

    /// Reports the changes since the last report.
    func report() {
        refreshSummaries()
        let changes = list.takeChanges()
        guard changes?.isEmpty != true else { return }
        for continuation in changesContinuations.values { continuation.yield(changes) }
        tell(changes)
        let isLookedAt = delegate != nil || !changesContinuations.isEmpty
        if !isLookedAt, isLive, list.count > Int(clamping: maxBackgroundCachedBubblesCount) {
            limitMemoryUsage(Int(clamping: maxBackgroundCachedBubblesCount))
        }
    }

    func countFromServer(_ count: Int) {
        guard count > 0 else { return }
        let wasNone = serverSyncEventCount == 0
        serverSyncEventCount += count
        if wasNone { NotificationCenter.default.post(name: .mxkRoomDataSourceSyncStatusChanged, object: self) }
    }

    // MARK: Preparation

    /// Creates a live data source, and calls back once it is ready or has failed.
    public static func load(
        withRoomId roomId: String, andMatrixSession mxSession: MXSession, onComplete: @escaping (Any?) -> Void
    ) { load(withRoomId: roomId, initialEventId: nil, andMatrixSession: mxSession, onComplete: onComplete) }

    /// Creates a data source around an event, and calls back once it is ready or has failed.
    public static func load(
        withRoomId roomId: String, initialEventId: String?, andMatrixSession mxSession: MXSession,
        onComplete: @escaping (Any?) -> Void
    ) {
        let source = MXKRoomDataSource(roomId: roomId, initialEventId: initialEventId, andMatrixSession: mxSession)
        let completion = MainCallback<Any?>(onComplete)
        Task {
            await source.whenPrepared()
            completion(source)
        }
    }

    /// Waits until it is ready or has failed.
    public func whenPrepared() async {
        guard state == .preparing || state == .unknown, !isDestroyed else { return }
        await withCheckedContinuation { preparedWaiters.append($0) }
    }
}
