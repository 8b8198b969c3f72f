import Foundation
import MatrixProtocol
public import MatrixSDK

/// The policy for data sources that are closed.
public enum MXKRoomDataSourceManagerReleasePolicy: UInt, Sendable {
    /// The data source is kept with few bubbles, so that its room opens at once the next time.
    case neverRelease
    /// The data source is destroyed.
    case releaseOnClose
}

/// The live data sources of a session, one for each room.
///
/// At most 20 are kept. The least recently used are destroyed first, except those on screen. Data sources of rooms that
/// the user leaves are destroyed, and all of them when the session closes.
@MainActor
public final class MXKRoomDataSourceManager {
    private static var managers: [ObjectIdentifier: MXKRoomDataSourceManager] = [:]
    private static var dataSourceClass = MXKRoomDataSource.self
    private static let maximumCount = 20

    /// The policy for closed data sources. The default is to keep them.
    public var releasePolicy = MXKRoomDataSourceManagerReleasePolicy.neverRelease
    /// Whether the session is waiting for a sync response to bring it up to date.
    public var isServerSyncInProgress: Bool {
        mxSession?.state == .syncInProgress || mxSession?.state == .backgroundSyncInProgress
    }

    private weak var mxSession: MXSession?
    /// The data sources, most recently used last.
    private var dataSources: [MXKRoomDataSource] = []
    private var observer: UUID?

    private init(_ session: MXSession) {
        mxSession = session
        observer = session.observeReports { [weak self] report in
            let left = report.roomsLeft
            let isStateChange = if case .stateChanged = report { true } else { false }
            guard !left.isEmpty || isStateChange else { return }
            Task { @MainActor in self?.changed(left) }
        }
    }

    /// Returns the manager of a session.
    public static func sharedManager(forMatrixSession mxSession: MXSession) -> MXKRoomDataSourceManager {
        for (id, manager) in managers where manager.mxSession == nil { managers[id] = nil }
        if let manager = managers[ObjectIdentifier(mxSession)] { return manager }
        let manager = MXKRoomDataSourceManager(mxSession)
        managers[ObjectIdentifier(mxSession)] = manager
        return manager
    }

    /// Destroys the manager of a session and its data sources.
    public static func removeSharedManager(forMatrixSession mxSession: MXSession) {
        guard let manager = managers.removeValue(forKey: ObjectIdentifier(mxSession)) else { return }
        manager.reset()
        if let observer = manager.observer { mxSession.stopObserving(observer) }
    }

    /// Registers the class for new data sources of all sessions.
    public static func registerRoomDataSourceClass(_ roomDataSourceClass: MXKRoomDataSource.Type) {
        dataSourceClass = roomDataSourceClass
    }

    /// Destroys all data sources.
    public func reset() {
        let old = dataSources
        dataSources = []
        for dataSource in old { dataSource.destroy() }
    }

    /// Like the asynchronous method. Calls back once, on the main actor.
    public func roomDataSource(
        forRoom roomId: String, create: Bool, onComplete: @escaping (MXKRoomDataSource?) -> Void
    ) {
        let completion = MainCallback<MXKRoomDataSource?>(onComplete)
        Task { completion(await self.roomDataSource(forRoom: roomId, create: create)) }
    }

    /// Returns the live data source of a room once it is prepared.
    ///
    /// - Parameter create: Whether to create one if there is none.
    /// - Returns: `nil` if there is none or the session is gone.
    public func roomDataSource(forRoom roomId: String, create: Bool) async -> MXKRoomDataSource? {
        if let known = dataSources.first(where: { $0.roomId == roomId }) {
            use(known)
            await known.whenPrepared()
            return known.isDestroyed ? nil : known
        }
        guard create, let mxSession, mxSession.state != .closed else { return nil }
        let made = Self.dataSourceClass.init(roomId: roomId, initialEventId: nil, andMatrixSession: mxSession)
        use(made)
        await made.whenPrepared()
        return made.isDestroyed ? nil : made
    }

    /// Adds a data source created elsewhere, replacing an existing one. It must not be one around an event.
    public func addRoomDataSource(_ roomDataSource: MXKRoomDataSource) {
        guard roomDataSource.isLive else { return }
        for other in dataSources where other.roomId == roomDataSource.roomId && other !== roomDataSource {
            close(other)
        }
        use(roomDataSource)
    }

    /// Reports that the room is no longer on screen.
    ///
    /// - Parameter forceClose: Whether to destroy its data source regardless of ``releasePolicy``.
    public func closeRoomDataSource(withRoomId roomId: String, forceClose: Bool) {
        guard let dataSource = dataSources.first(where: { $0.roomId == roomId }) else { return }
        if forceClose || releasePolicy == .releaseOnClose { return close(dataSource) }
        dataSource.delegate = nil
        dataSource.limitMemoryUsage(Int(dataSource.maxBackgroundCachedBubblesCount))
    }

    /// The number of data sources.
    var count: Int { dataSources.count }

    private func close(_ dataSource: MXKRoomDataSource) {
        dataSources.removeAll { $0 === dataSource }
        dataSource.destroy()
    }

    private func use(_ dataSource: MXKRoomDataSource) {
        dataSources.removeAll { $0 === dataSource }
        dataSources.append(dataSource)
        let idle = dataSources.dropLast().filter { $0.delegate == nil }
        for old in idle.prefix(max(0, dataSources.count - Self.maximumCount)) { close(old) }
    }

    private func changed(_ left: Set<String>) {
        if mxSession == nil || mxSession?.state == .closed { return reset() }
        for dataSource in dataSources
        where left.contains(dataSource.roomId) && dataSource.room?.summary.membership != .join {
            close(dataSource)
        }
    }
}

extension SessionReport {
    fileprivate var roomsLeft: Set<String> {
        guard case .notices(let notices) = self else { return [] }
        return Set(notices.compactMap { notice in if case .left(let roomId, _) = notice { roomId } else { nil } })
    }
}
