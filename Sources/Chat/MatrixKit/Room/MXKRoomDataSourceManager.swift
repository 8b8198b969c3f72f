import Foundation
import MatrixProtocol
public import MatrixSDK

/// What becomes of a data source that is closed.
public enum MXKRoomDataSourceManagerReleasePolicy: UInt, Sendable {
    /// It is kept, with few bubbles, to be there at once when its room is opened again.
    case neverRelease
    /// It is destroyed.
    case releaseOnClose
}

/// Keeps the live data sources of a session: one for each room.
///
/// At most 20 are kept: those that were not used for longest are destroyed first, but none that somebody shows. Those of rooms
/// that are left, and all when the session closes, are destroyed.
@MainActor
public final class MXKRoomDataSourceManager {
    private static var managers: [ObjectIdentifier: MXKRoomDataSourceManager] = [:]
    private static var dataSourceClass = MXKRoomDataSource.self
    private static let maximumCount = 20

    /// What becomes of data sources that are closed. Usually they are kept.
    public var releasePolicy = MXKRoomDataSourceManagerReleasePolicy.neverRelease
    /// Whether the session waits for an answer that brings it up to date.
    public var isServerSyncInProgress: Bool {
        mxSession?.state == .syncInProgress || mxSession?.state == .backgroundSyncInProgress
    }

    private weak var mxSession: MXSession?
    /// The one that was used last is the last.
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

    /// The one of a session.
    public static func sharedManager(forMatrixSession mxSession: MXSession) -> MXKRoomDataSourceManager {
        for (id, manager) in managers where manager.mxSession == nil { managers[id] = nil }
        if let manager = managers[ObjectIdentifier(mxSession)] { return manager }
        let manager = MXKRoomDataSourceManager(mxSession)
        managers[ObjectIdentifier(mxSession)] = manager
        return manager
    }

    /// Destroys the one of a session, and its data sources.
    public static func removeSharedManager(forMatrixSession mxSession: MXSession) {
        guard let manager = managers.removeValue(forKey: ObjectIdentifier(mxSession)) else { return }
        manager.reset()
        if let observer = manager.observer { mxSession.stopObserving(observer) }
    }

    /// Makes data sources with this class from now on, for all sessions.
    public static func registerRoomDataSourceClass(_ roomDataSourceClass: MXKRoomDataSource.Type) {
        dataSourceClass = roomDataSourceClass
    }

    /// Destroys all data sources.
    public func reset() {
        let old = dataSources
        dataSources = []
        for dataSource in old { dataSource.destroy() }
    }

    /// As the other form. Calls back once, on the main actor.
    public func roomDataSource(
        forRoom roomId: String, create: Bool, onComplete: @escaping (MXKRoomDataSource?) -> Void
    ) {
        let completion = MainCallback<MXKRoomDataSource?>(onComplete)
        Task { completion(await self.roomDataSource(forRoom: roomId, create: create)) }
    }

    /// The live data source of a room, once it is prepared.
    ///
    /// - Parameter create: Whether to make one if there is none.
    /// - Returns: Nil if there is none, or the session is gone.
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

    /// Keeps a data source that somebody else has made, in the place of one that there is. Not one around an event.
    public func addRoomDataSource(_ roomDataSource: MXKRoomDataSource) {
        guard roomDataSource.isLive else { return }
        for other in dataSources where other.roomId == roomDataSource.roomId && other !== roomDataSource {
            close(other)
        }
        use(roomDataSource)
    }

    /// Nobody shows the room any more.
    ///
    /// - Parameter forceClose: Whether its data source is destroyed whatever ``releasePolicy`` says.
    public func closeRoomDataSource(withRoomId roomId: String, forceClose: Bool) {
        guard let dataSource = dataSources.first(where: { $0.roomId == roomId }) else { return }
        if forceClose || releasePolicy == .releaseOnClose { return close(dataSource) }
        dataSource.delegate = nil
        dataSource.limitMemoryUsage(Int(dataSource.maxBackgroundCachedBubblesCount))
    }

    /// How many are kept.
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
