public import Foundation

/// The changes to a list of cells. Applied to the old list, they yield the new one.
public struct MXKCellChanges: Sendable, Hashable {
    /// Indices of inserted cells, after the change.
    public var inserted: IndexSet
    /// Indices of removed cells, before the change.
    public var removed: IndexSet
    /// Indices of cells whose appearance has changed, after the change.
    public var updated: IndexSet
    /// Moved cells: indices before the change mapped to indices after it. These cells are neither removed nor inserted.
    public var moved: [Int: Int]

    /// Creates a set of changes, empty by default.
    public init(
        inserted: IndexSet = [], removed: IndexSet = [], updated: IndexSet = [], moved: [Int: Int] = [:]
    ) {
        (self.inserted, self.removed, self.updated, self.moved) = (inserted, removed, updated, moved)
    }

    /// Whether nothing has changed.
    public var isEmpty: Bool { inserted.isEmpty && removed.isEmpty && updated.isEmpty && moved.isEmpty }

    /// Computes the changes between two lists from an id for each cell.
    ///
    /// As many cells as possible of those in both lists stay in place; the others are moved. The cost is that of
    /// sorting.
    ///
    /// - Parameters:
    ///   - old: Unique ids.
    ///   - new: Unique ids.
    ///   - isUpdated: Whether a cell in both lists has changed its appearance.
    public init<ID: Hashable>(from old: [ID], to new: [ID], isUpdated: (ID) -> Bool = { _ in false }) {
        self.init()
        var places: [ID: Int] = [:]
        for (index, id) in old.enumerated() { places[id] = index }
        // The old indices of the cells in both lists, in their new order.
        var kept: [(from: Int, to: Int)] = []
        for (index, id) in new.enumerated() {
            guard let place = places.removeValue(forKey: id) else {
                inserted.insert(index)
                continue
            }
            kept.append((place, index))
            if isUpdated(id) { updated.insert(index) }
        }
        for place in places.values { removed.insert(place) }
        let staying = Self.longestIncrease(in: kept.map(\.from))
        for (number, cell) in kept.enumerated() where !staying.contains(number) { moved[cell.from] = cell.to }
    }

    /// Returns the indices of a longest increasing subsequence of distinct numbers.
    private static func longestIncrease(in numbers: [Int]) -> IndexSet {
        // The end of the best subsequence of each length, and the predecessor of each element.
        var (ends, before) = ([Int](), [Int](repeating: -1, count: numbers.count))
        for (index, number) in numbers.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            if low > 0 { before[index] = ends[low - 1] }
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var (result, index) = (IndexSet(), ends.last ?? -1)
        while index >= 0 {
            result.insert(index)
            index = before[index]
        }
        return result
    }
}
