public import Foundation

/// How a list of cells has changed. Applied to the cells that were there, it gives those that are there now.
public struct MXKCellChanges: Sendable, Hashable {
    /// Cells that are new, by their indices after the change.
    public var inserted: IndexSet
    /// Cells that are gone, by their indices before the change.
    public var removed: IndexSet
    /// Cells that look different, by their indices after the change.
    public var updated: IndexSet
    /// Cells that are somewhere else, by their indices before and after the change. They are neither removed nor inserted.
    public var moved: [Int: Int]

    /// Nothing has changed, unless told otherwise.
    public init(
        inserted: IndexSet = [], removed: IndexSet = [], updated: IndexSet = [], moved: [Int: Int] = [:]
    ) {
        (self.inserted, self.removed, self.updated, self.moved) = (inserted, removed, updated, moved)
    }

    /// Whether nothing has changed.
    public var isEmpty: Bool { inserted.isEmpty && removed.isEmpty && updated.isEmpty && moved.isEmpty }

    /// The change from one list to another, by what stands for each cell.
    ///
    /// Of the cells that are in both, as many as possible stay where they are; the others are moved. The work is that of sorting.
    ///
    /// - Parameters:
    ///   - old: Each at most once.
    ///   - new: Each at most once.
    ///   - isUpdated: Whether a cell that is in both looks different.
    public init<ID: Hashable>(from old: [ID], to new: [ID], isUpdated: (ID) -> Bool = { _ in false }) {
        self.init()
        var places: [ID: Int] = [:]
        for (index, id) in old.enumerated() { places[id] = index }
        // Where those that are in both were, in the order in which they are now.
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

    /// The indices of a longest increasing part of a list without equal numbers.
    private static func longestIncrease(in numbers: [Int]) -> IndexSet {
        // The end of the best part of each length, and what comes before each.
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
