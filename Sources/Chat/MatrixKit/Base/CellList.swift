import Foundation

/// An ordered list of cells that records its changes between two reports.
///
/// Most cells are inserted at the ends, and few change in between. Apart from moving the array itself, the work depends
/// on the number of changes, not on the number of cells.
package struct CellList<Cell: AnyObject> {
    package init() {}

    private struct Place {
        let cell: Cell
        var position: Int
    }

    /// The gap between neighbours, for cells inserted between them.
    private static var step: Int { 1 << 24 }

    private var places: [Place] = []
    private var positions: [ObjectIdentifier: Int] = [:]

    // Changes since the last report.
    private var inserted: Set<ObjectIdentifier> = []
    private var updated: Set<ObjectIdentifier> = []
    /// The positions of removed cells that were present at the last report.
    private var removed: [Int] = []
    private var isReplaced = false

    package var count: Int { places.count }
    package var cells: [Cell] { places.map(\.cell) }
    package var first: Cell? { places.first?.cell }
    package var last: Cell? { places.last?.cell }

    package subscript(index: Int) -> Cell { places[index].cell }

    package func index(of cell: Cell) -> Int? {
        guard let position = positions[ObjectIdentifier(cell)] else { return nil }
        let index = lowerBound(position)
        return index < places.count && places[index].cell === cell ? index : nil
    }

    package func contains(_ cell: Cell) -> Bool { positions[ObjectIdentifier(cell)] != nil }

    private func lowerBound(_ position: Int) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Changes

    package mutating func insert(_ cell: Cell, at index: Int) {
        let before = index > 0 ? places[index - 1].position : nil
        let after = index < places.count ? places[index].position : nil
        let position: Int
        switch (before, after) {
        case (nil, nil): position = 0
        case (let before?, nil): position = before + Self.step
        case (nil, let after?): position = after - Self.step
        case (let before?, let after?) where after - before > 1: position = before + (after - before) / 2
        case (_?, _?):
            spread()
            return insert(cell, at: index)
        }
        // A removed cell may have had this position: their order would then be unknown.
        if removed.contains(position) { isReplaced = true }
        places.insert(Place(cell: cell, position: position), at: index)
        positions[ObjectIdentifier(cell)] = position
        inserted.insert(ObjectIdentifier(cell))
    }

    package mutating func append(_ cell: Cell) { insert(cell, at: places.count) }

    package mutating func remove(_ cell: Cell) {
        guard let index = index(of: cell) else { return }
        let place = places.remove(at: index)
        let id = ObjectIdentifier(cell)
        positions[id] = nil
        if inserted.remove(id) == nil { removed.append(place.position) }
        updated.remove(id)
    }

    /// Removes and returns the first cells.
    package mutating func removeFirst(_ count: Int) -> [Cell] {
        let gone = places.prefix(count)
        places.removeFirst(gone.count)
        for place in gone {
            let id = ObjectIdentifier(place.cell)
            positions[id] = nil
            if inserted.remove(id) == nil { removed.append(place.position) }
            updated.remove(id)
        }
        return gone.map(\.cell)
    }

    package mutating func update(_ cell: Cell) {
        if contains(cell) { updated.insert(ObjectIdentifier(cell)) }
    }

    package mutating func removeAll() {
        self = CellList()
        isReplaced = true
    }

    private mutating func spread() {
        isReplaced = true
        for index in places.indices {
            places[index].position = index * Self.step
            positions[ObjectIdentifier(places[index].cell)] = index * Self.step
        }
    }

    // MARK: Reports

    /// Returns the changes since the last report; `nil` if everything may have changed.
    package mutating func takeChanges() -> MXKCellChanges? {
        defer { (inserted, updated, removed, isReplaced) = ([], [], [], false) }
        if isReplaced { return nil }
        var changes = MXKCellChanges()
        let insertedPositions = inserted.compactMap { positions[$0] }.sorted()
        for position in insertedPositions { changes.inserted.insert(lowerBound(position)) }
        for id in updated.subtracting(inserted) {
            if let position = positions[id] { changes.updated.insert(lowerBound(position)) }
        }
        for (count, position) in removed.sorted().enumerated() {
            // The index before the change counts earlier cells that remain, without the inserted ones, plus those
            // removed.
            let insertedBefore = insertedPositions.count { $0 < position }
            changes.removed.insert(lowerBound(position) - insertedBefore + count)
        }
        return changes
    }
}
