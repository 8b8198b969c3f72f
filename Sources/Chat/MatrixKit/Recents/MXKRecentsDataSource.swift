public import Foundation
import MatrixProtocol
public import MatrixSDK

/// The rooms of one session or of several: a section for each.
@MainActor
open class MXKRecentsDataSource: MXKDataSource, MXKDataSourceDelegate {
    /// The lists of the sessions, in the order in which these were added.
    public private(set) var sources: [MXKSessionRecentsDataSource] = []
    /// What is searched for; nil for nothing.
    public private(set) var searchPatternsList: [String]?
    /// Which rooms are shown, of every session.
    public var filter = MXKRecentsFilter.all { didSet { for source in sources { source.filter = filter } } }
    /// In which order, in every session.
    public var order = MXKRecentsOrder.activity { didSet { for source in sources { source.order = order } } }

    /// The rooms of a session. More can be added.
    public override init(matrixSession mxSession: MXSession?) {
        super.init(matrixSession: mxSession)
        if let mxSession { addMatrixSession(mxSession) }
        finalizeInitialization()
    }

    /// The sessions whose rooms are shown.
    public var mxSessions: [MXSession] { sources.compactMap(\.mxSession) }

    /// How many sessions have rooms to show.
    public var displayedRecentsDataSourcesCount: UInt { UInt(sources.count { $0.numberOfCells > 0 }) }

    /// Whether a room has something unread.
    public var hasUnread: Bool { sources.contains(where: \.hasUnread) }

    /// Shows the rooms of a session too.
    ///
    /// - Returns: Its list; the one that is there already if its rooms are shown.
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

    /// Shows the rooms of a session no more.
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

    /// Shows rooms alone in whose name or address one of the patterns stands. Nil shows all.
    open func search(withPatterns patternsList: [String]?) {
        searchPatternsList = patternsList
        for source in sources { source.search(withPatterns: patternsList) }
    }

    /// One for each session.
    public var numberOfSections: Int { sources.count }

    /// How many rooms of a session are shown.
    open func numberOfCells(inSection section: Int) -> Int {
        sources.indices.contains(section) ? sources[section].numberOfCells : 0
    }

    /// The room at an index path; nil beyond the ends.
    open func cellData(at indexPath: IndexPath) -> (any MXKRecentCellDataStoring)? {
        guard indexPath.count == 2, sources.indices.contains(indexPath.section) else { return nil }
        return sources[indexPath.section].cellData(at: indexPath.row)
    }

    /// How high the delegate's class for it would be.
    open func cellHeight(at indexPath: IndexPath) -> CGFloat {
        guard let cell = cellData(at: indexPath) else { return 0 }
        return delegate?.cellViewClass(for: cell)?.height(for: cell, withMaximumWidth: .greatestFiniteMagnitude) ?? 0
    }

    /// Where a room is shown; nil if it is not.
    open func cellIndexPath(withRoomId roomId: String, andMatrixSession mxSession: MXSession) -> IndexPath? {
        for section in 0..<numberOfSections {
            for row in 0..<numberOfCells(inSection: section) {
                let path = IndexPath(row: row, section: section)
                if cellData(at: path)?.roomIdentifier == roomId, session(at: path) === mxSession { return path }
            }
        }
        return nil
    }

    /// The session of the room at an index path.
    func session(at indexPath: IndexPath) -> MXSession? {
        sources.indices.contains(indexPath.section) ? sources[indexPath.section].mxSession : nil
    }

    /// The room at an index path; nil beyond the ends.
    open func getRoomAt(_ indexPath: IndexPath) -> MXRoom? {
        cellData(at: indexPath).flatMap { session(at: indexPath)?.room(withRoomId: $0.roomIdentifier) }
    }

    /// Leaves the room at an index path, or declines its invitation. What goes wrong is posted as ``Foundation/NSNotification/Name/mxkError``.
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

    // MARK: The lists of the sessions

    /// The class of the views that show this; nil shows nothing.
    public func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? {
        delegate?.cellViewClass(for: cellData)
    }

    /// What stands for that class where views are kept to be used again.
    public func cellReuseIdentifier(for cellData: MXKCellData) -> String? {
        delegate?.cellReuseIdentifier(for: cellData)
    }

    open func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        // Of one session the indices are those of the list.
        tell(sources.count == 1 ? changes as? MXKCellChanges : nil)
    }

    /// Hands the change of one session's list on.
    public func dataSource(_ dataSource: MXKDataSource, didStateChange state: MXKDataSourceState) { sourcesChanged() }
}

/// The rooms of several sessions in one list, by their order.
@MainActor
open class MXKInterleavedRecentsDataSource: MXKRecentsDataSource {
    private var merged: [(source: MXKSessionRecentsDataSource, row: Int)] = []

    public override init(matrixSession mxSession: MXSession?) { super.init(matrixSession: mxSession) }

    /// One.
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

    /// Each list is in order: the next room is the first of one of them.
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
