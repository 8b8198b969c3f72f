public import Foundation
import MatrixProtocol
public import MatrixSDK

/// The rooms of one or more sessions, with one section per session.
@MainActor
open class MXKRecentsDataSource: MXKDataSource, MXKDataSourceDelegate {
    /// The room lists of the sessions, in the order in which they were added.
    public private(set) var sources: [MXKSessionRecentsDataSource] = []
    /// The search patterns; `nil` if there is no search.
    public private(set) var searchPatternsList: [String]?
    /// The filter, applied to every session.
    public var filter = MXKRecentsFilter.all { didSet { for source in sources { source.filter = filter } } }
    /// The order, applied to every session.
    public var order = MXKRecentsOrder.activity { didSet { for source in sources { source.order = order } } }

    /// Creates a data source for the rooms of a session. More sessions can be added.
    public override init(matrixSession mxSession: MXSession?) {
        super.init(matrixSession: mxSession)
        if let mxSession { addMatrixSession(mxSession) }
        finalizeInitialization()
    }

    /// The sessions whose rooms are shown.
    public var mxSessions: [MXSession] { sources.compactMap(\.mxSession) }

    /// The number of sessions that have rooms to show.
    public var displayedRecentsDataSourcesCount: UInt { UInt(sources.count { $0.numberOfCells > 0 }) }

    /// Whether any room has unread events.
    public var hasUnread: Bool { sources.contains(where: \.hasUnread) }

    /// Adds the rooms of a session.
    ///
    /// - Returns: The session's room list, an existing one if the session was already added.
    @discardableResult
    open func addMatrixSession(_ mxSession: MXSession) -> MXKSessionRecentsDataSource? {
        if let known = sources.first(where: { $0.mxSession === mxSession }) { return known }
        let source = MXKSessionRecentsDataSource(matrixSession: mxSession)
        if let type = cellDataClass(forCellIdentifier: kMXKRecentCellIdentifier) {
            source.registerCellDataClass(type, forCellIdentifier: kMXKRecentCellIdentifier)
        }
        (source.filter, source.order) = (filter, order)
        if let searchPatternsList { source.search(withPatterns: searchPatternsList) }
        sources.append(source)
        source.delegate = self
        source.finalizeInitialization()
        delegate?.dataSource(self, didAddMatrixSession: mxSession)
        sourcesChanged()
        return source
    }

    /// Removes the rooms of a session.
    open func removeMatrixSession(_ mxSession: MXSession) {
        guard let index = sources.firstIndex(where: { $0.mxSession === mxSession }) else { return }
        sources.remove(at: index).destroy()
        delegate?.dataSource(self, didRemoveMatrixSession: mxSession)
        sourcesChanged()
        tell(nil)
    }

    open override func registerCellDataClass(_ cellDataClass: AnyClass, forCellIdentifier identifier: String) {
        super.registerCellDataClass(cellDataClass, forCellIdentifier: identifier)
        for source in sources { source.registerCellDataClass(cellDataClass, forCellIdentifier: identifier) }
    }

    open override func destroy() {
        for source in sources { source.destroy() }
        sources = []
        super.destroy()
    }

    private func sourcesChanged() {
        guard state != .unknown else { return }
        if sources.contains(where: { $0.state == .ready }) {
            setState(.ready)
        } else if !sources.isEmpty, sources.allSatisfy({ $0.state == .failed }) {
            setState(.failed)
        } else {
            setState(.preparing)
        }
    }

    open override func didMXSessionStateChange() { sourcesChanged() }

    // MARK: Cells

    /// Shows only rooms whose name or address contains one of the patterns. Pass `nil` to show all.
    open func search(withPatterns patternsList: [String]?) {
        searchPatternsList = patternsList
        for source in sources { source.search(withPatterns: patternsList) }
    }

    /// The number of sections, one per session.
    public var numberOfSections: Int { sources.count }

    /// Returns the number of rooms shown for a session.
    open func numberOfCells(inSection section: Int) -> Int {
        sources.indices.contains(section) ? sources[section].numberOfCells : 0
    }

    /// Returns the room at an index path; `nil` if out of range.
    open func cellData(at indexPath: IndexPath) -> (any MXKRecentCellDataStoring)? {
        guard indexPath.count == 2, sources.indices.contains(indexPath.section) else { return nil }
        return sources[indexPath.section].cellData(at: indexPath.row)
    }

    /// Returns the cell height according to the delegate's view class.
    open func cellHeight(at indexPath: IndexPath) -> CGFloat {
        guard let cell = cellData(at: indexPath) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: .greatestFiniteMagnitude) ?? 0
    }

    /// Returns the index path of a room; `nil` if it is not shown.
    open func cellIndexPath(withRoomId roomId: String, andMatrixSession mxSession: MXSession) -> IndexPath? {
        for section in 0..<numberOfSections {
            for row in 0..<numberOfCells(inSection: section) {
                let path = IndexPath(row: row, section: section)
                if cellData(at: path)?.roomIdentifier == roomId, session(at: path) === mxSession { return path }
            }
        }
        return nil
    }

    /// Returns the session of the room at an index path.
    func session(at indexPath: IndexPath) -> MXSession? {
        sources.indices.contains(indexPath.section) ? sources[indexPath.section].mxSession : nil
    }

    /// Returns the room at an index path; `nil` if out of range.
    open func getRoomAt(_ indexPath: IndexPath) -> MXRoom? {
        cellData(at: indexPath).flatMap { session(at: indexPath)?.room(withRoomId: $0.roomIdentifier) }
    }

    /// Leaves the room at an index path, or declines its invitation. An error is posted as
    /// ``Foundation/NSNotification/Name/mxkError``.
    open func leaveRoom(at indexPath: IndexPath) {
        guard let room = getRoomAt(indexPath) else { return }
        let userId = session(at: indexPath)?.credentials?.userId
        Task {
            do {
                try await room.leave()
            } catch {
                NotificationCenter.default.postMXKError(error, userId: userId)
            }
        }
    }

    // MARK: Room lists of the sessions

    /// Returns the view class for the data; `nil` to show nothing.
    public func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        delegate?.cellViewClass(for: cellData)
    }

    /// Returns the reuse identifier of that class.
    public func cellReuseIdentifier(for cellData: MXKCellData) -> String? {
        delegate?.cellReuseIdentifier(for: cellData)
    }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        // With one session the indices are those of its list.
        tell(sources.count == 1 ? changes as? MXKCellChanges : nil)
    }

    /// Forwards a state change of a session's list.
    public func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { sourcesChanged() }
}

/// The rooms of several sessions, merged into one sorted list.
@MainActor
open class MXKInterleavedRecentsDataSource: MXKRecentsDataSource {
    private var merged: [(source: MXKSessionRecentsDataSource, row: Int)] = []

    public override init(matrixSession mxSession: MXSession?) { super.init(matrixSession: mxSession) }

    /// Always one.
    public override var numberOfSections: Int { 1 }

    open override func numberOfCells(inSection section: Int) -> Int {
        merge()
        return section == 0 ? merged.count : 0
    }

    open override func cellData(at indexPath: IndexPath) -> (any MXKRecentCellDataStoring)? {
        merge()
        guard indexPath.count == 2, indexPath.section == 0, merged.indices.contains(indexPath.row) else { return nil }
        let (source, row) = merged[indexPath.row]
        return source.cellData(at: row)
    }

    override func session(at indexPath: IndexPath) -> MXSession? {
        merge()
        return merged.indices.contains(indexPath.row) ? merged[indexPath.row].source.mxSession : nil
    }

    open override func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        isMerged = false
        super.dataSource(dataSource, didCellChange: changes)
    }

    open override func removeMatrixSession(_ mxSession: MXSession) {
        isMerged = false
        super.removeMatrixSession(mxSession)
    }

    private var isMerged = false

    /// Each list is sorted: the next room is the first of one of them.
    private func merge() {
        guard !isMerged else { return }
        isMerged = sources.allSatisfy { $0.state == .ready }
        var rows = sources.map { _ in 0 }
        merged = []
        while true {
            var best: (index: Int, cell: any MXKRecentCellDataStoring)?
            for (index, source) in sources.enumerated() {
                guard let cell = source.cellData(at: rows[index]) else { continue }
                if let other = best?.cell, !source.isBefore(cell.roomSummary, other.roomSummary) { continue }
                best = (index, cell)
            }
            guard let best else { return }
            merged.append((sources[best.index], rows[best.index]))
            rows[best.index] += 1
        }
    }
}
