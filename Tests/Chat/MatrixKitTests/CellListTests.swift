import Foundation
import MatrixKitTerminal
import TestSupport
import Testing

@testable import MatrixKit

struct CellListTests {
    private final class Cell {
        let name: Int
        init(_ name: Int) { self.name = name }
    }

    /// The old list with the changes applied.
    private static func applied(_ changes: MXKCellChanges, to old: [Int], from new: [Int]) -> [Int] {
        var result = old
        for index in changes.removed.reversed() { result.remove(at: index) }
        for index in changes.inserted { result.insert(new[index], at: index) }
        return result
    }

    @Test(arguments: 0..<300) func reportsAreExactlyRight(seed: UInt64) {
        var random = XorShift(seed: seed)
        var list = CellList<Cell>()
        var (shown, nextName) = ([Int](), 0)
        var touched: Set<Int> = []
        for _ in 0..<60 {
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3:
                    list.append(Cell(nextName))
                    nextName += 1
                case 3..<6:
                    list.insert(Cell(nextName), at: 0)
                    nextName += 1
                case 6:
                    list.insert(Cell(nextName), at: Int.random(in: 0...list.count, using: &random))
                    nextName += 1
                case 7 where list.count > 0: list.remove(list[Int.random(in: 0..<list.count, using: &random)])
                case 8 where list.count > 0:
                    let cell = list[Int.random(in: 0..<list.count, using: &random)]
                    list.update(cell)
                    touched.insert(cell.name)
                default: break
                }
            }
            let now = list.cells.map(\.name)
            for cell in list.cells { #expect(list.index(of: cell).map { list[$0] } === cell) }
            if let changes = list.takeChanges() {
                #expect(Self.applied(changes, to: shown, from: now) == now)
                let updated = Set(changes.updated.map { now[$0] })
                #expect(updated == touched.intersection(shown).intersection(now))
                #expect(changes.inserted.allSatisfy { !shown.contains(now[$0]) })
            }
            (shown, touched) = (now, [])
            #expect(list.takeChanges()?.isEmpty == true)
        }
    }

    @Test func manyBetweenTwoNeighboursAreReportedAsEverything() {
        var list = CellList<Cell>()
        list.append(Cell(0))
        list.append(Cell(1))
        _ = list.takeChanges()
        for name in 2..<40 { list.insert(Cell(name), at: 1) }
        #expect(list.takeChanges() == nil)
        #expect(list.cells.map(\.name) == [0] + Array((2..<40).reversed()) + [1])
    }

    @Test(arguments: 0..<200) func differencesOfListsAreExactlyRight(seed: UInt64) {
        var random = XorShift(seed: seed)
        let old = Array((0..<20).shuffled(using: &random).prefix(Int.random(in: 0...15, using: &random)))
        let new = Array((0..<20).shuffled(using: &random).prefix(Int.random(in: 0...15, using: &random)))
        let changes = MXKCellChanges(from: old, to: new, isUpdated: { $0 % 5 == 0 })
        // Applies removals and moves away first, then insertions and moves in.
        var result = old
        for index in changes.removed.union(IndexSet(changes.moved.keys)).reversed() { result.remove(at: index) }
        for index in changes.inserted.union(IndexSet(changes.moved.values)) { result.insert(new[index], at: index) }
        #expect(result == new)
        #expect(changes.moved.allSatisfy { old[$0.key] == new[$0.value] })
        #expect(changes.updated.allSatisfy { new[$0] % 5 == 0 && old.contains(new[$0]) })
    }

    /// A list of members starts small, and then gets all members of a large room.
    @Test func largeDifferencesCostWhatSortingDoes() {
        var random = XorShift(seed: 1)
        let growth = growth(from: 4_000) { count in
            let new = Array(0..<count).shuffled(using: &random)
            let changes = MXKCellChanges(from: Array(0..<10), to: new)
            #expect(changes.inserted.count == count - 10 && changes.removed.isEmpty)
        }
        #expect(growth < 24)
    }
}
