import TestSupport
import Testing

@testable import MatrixProtocol

struct ShardedTableTests {
    private func table(_ count: Int) -> ShardedTable<String, Int> {
        var table = ShardedTable<String, Int>()
        for number in 0..<count { table["key\(number)"] = number }
        return table
    }

    /// 256 values are in one shard; one more splits it.
    @Test(arguments: [0, 1, 255, 256, 257, 258, 5000])
    func itIsADictionary(count: Int) {
        var table = table(count)
        #expect(table.count == count)
        #expect(table.all.map(\.value).sorted() == Array(0..<count))
        for number in 0..<count {
            #expect(table["key\(number)"] == number)
            #expect(table.update("key\(number)", -number) == number)
        }
        #expect(table.update("none", nil) == nil)
        #expect(table.count == count)
        for number in 0..<count { table["key\(number)"] = nil }
        #expect(table.count == 0 && table.all.first { _ in true } == nil)
    }

    /// A timeline passes its listeners the state before each event.
    @Test func aCopyOfALargeTableIsChangedCheaply() {
        func cost(_ count: Int) -> Duration {
            let table = table(count)
            return cpuTime {
                for _ in 0..<100 {
                    var copy = table
                    copy["key1"] = -1
                    #expect(copy["key1"] == -1)
                }
            }
        }
        // About four times as much is copied; a full copy would be 256 times as much.
        #expect(cost(65_536) < cost(256) * 40)
    }
}
