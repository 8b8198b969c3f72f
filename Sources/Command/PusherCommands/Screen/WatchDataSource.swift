import CommandKit
import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK
import PusherSwift

/// The cells of a stream: the newest events and their channels.
@MainActor
final class WatchDataSource: MXKDataSource {
    /// The maximum number of events; older ones are discarded.
    static let maximumEvents = 10_000
    /// The maximum size of all events, in bytes. The newest is always kept.
    static let maximumSize = 64 << 20

    private var events = WatchEvents()
    private var shown = CellList<MXKCellData>()
    private(set) var channels: [WatchChannelCellData] = []
    private var nextNumber = 1
    /// The number of events that arrived while paused.
    private(set) var heldBack = 0
    private var held = WatchEvents()
    /// The only channel to show; `nil` shows all.
    var channel: String? { didSet { if channel != oldValue { filterChanged() } } }
    /// The words that an event must contain to be shown.
    var filter = "" { didSet { if filter != oldValue { filterChanged() } } }
    /// Whether new events are held back. Only those that are too old by the end of the pause are lost.
    var isPaused = false { didSet { if !isPaused { goOn() } } }
    /// The state of the connection.
    private(set) var connection = ""

    /// Returns the member ids of a presence channel.
    private let members: (String) -> [String]

    init(members: @escaping (String) -> [String] = { _ in [] }) {
        self.members = members
        super.init(matrixSession: nil)
        finalizeInitialization()
        setState(.ready)
    }

    var numberOfCells: Int { shown.count }

    func cellData(at index: Int) -> WatchEventCellData? {
        (0..<shown.count).contains(index) ? shown[index] as? WatchEventCellData : nil
    }

    func index(ofNumber number: Int) -> Int? {
        var (low, high) = (0, shown.count)
        while low < high {
            let middle = (low + high) / 2
            if (shown[middle] as? WatchEventCellData)?.number ?? 0 < number { low = middle + 1 } else { high = middle }
        }
        return cellData(at: low)?.number == number ? low : nil
    }

    // MARK: Records

    func received(_ entries: [WatchInbox.Entry]) {
        for (record, time) in entries {
            note(record, at: time)
            let cell = WatchEventCellData(number: nextNumber, record, at: time)
            nextNumber += 1
            if isPaused { held.append(cell) } else { add(cell) }
        }
        guard !isPaused else {
            heldBack += entries.count
            _ = held.trim()
            return tell(nil)
        }
        trim()
        tell(shown.takeChanges())
    }

    private func goOn() {
        for cell in held.cells { add(cell) }
        (held, heldBack) = (WatchEvents(), 0)
        trim()
        tell(shown.takeChanges())
    }

    private func add(_ cell: WatchEventCellData) {
        events.append(cell)
        if fits(cell) { shown.append(cell) }
    }

    private func trim() { for cell in events.trim() { shown.remove(cell) } }

    private func fits(_ cell: WatchEventCellData) -> Bool {
        (channel == nil || cell.channel == channel) && (filter.isEmpty || cell.fits(filter.split(separator: " ")))
    }

    private func filterChanged() {
        shown.removeAll()
        for cell in events.cells where fits(cell) { shown.append(cell) }
        tell(shown.takeChanges())
    }

    // MARK: Channels

    private func note(_ record: Record, at time: Date) {
        switch record {
        case .state(_, let to, _): connection = to.stringValue()
        case .matrixState(_, let to): connection = to.description
        case .pydioState(_, _, _, let to): connection = to.stringValue()
        case .subscribed(let name, _): channelCell(name).members = members(name).sorted()
        case .memberAdded(let name, let member):
            let cell = channelCell(name)
            if !cell.members.contains(member.userId) { cell.members = (cell.members + [member.userId]).sorted() }
        case .memberRemoved(let name, let member): channelCell(name).members.removeAll { $0 == member.userId }
        case .event, .consumed, .matrixEvent, .pydioEvent:
            if let name = record.event?.channel { channelCell(name).note(at: time) }
        case .gap, .signedIn, .watchlist, .error: break
        }
    }

    private func channelCell(_ name: String) -> WatchChannelCellData {
        if let known = channels.first(where: { $0.name == name }) { return known }
        let new = WatchChannelCellData(name)
        let index = channels.firstIndex { $0.name > name } ?? channels.count
        channels.insert(new, at: index)
        return new
    }

    /// Whether the display changes with time alone.
    var isMoving: Bool { channels.contains { $0.isMoving } }

    /// Updates the rates after each second.
    func tick(_ now: Date) {
        for channel in channels { channel.advance(to: now) }
    }
}

/// The newest events, up to the limits.
@MainActor
private struct WatchEvents {
    private(set) var cells: [WatchEventCellData] = []
    private var size = 0

    nonisolated init() {}

    mutating func append(_ cell: WatchEventCellData) {
        cells.append(cell)
        size += cell.size
    }

    /// Discards the oldest events, a tenth at a time.
    ///
    /// - Returns: The discarded events.
    mutating func trim() -> ArraySlice<WatchEventCellData> {
        let (count, limit) = (WatchDataSource.maximumEvents, WatchDataSource.maximumSize)
        guard cells.count > count * 11 / 10 || size > limit else { return [] }
        var surplus = max(cells.count - count, 0)
        for cell in cells.prefix(surplus) { size -= cell.size }
        while size > limit * 9 / 10, surplus < cells.count - 1 {
            size -= cells[surplus].size
            surplus += 1
        }
        let forgotten = cells.prefix(surplus)
        cells.removeFirst(surplus)
        return forgotten
    }
}
