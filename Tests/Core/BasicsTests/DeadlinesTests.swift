import Basics
import Realtime
import TestSupport
import Testing

struct DeadlinesTests {
    @Test func theSoonestComesFirstInWhateverOrderTheyAreSet() {
        var deadlines = Deadlines<String>()
        deadlines.set(.at(2), for: "b")
        deadlines.set(.at(3), for: "c")
        deadlines.set(.at(1), for: "a")
        #expect(deadlines.first == .at(1))
        #expect(drain(&deadlines) == ["a", "b", "c"])
    }

    @Test func nothingIsDueBeforeItsMoment() {
        var deadlines = Deadlines<String>()
        deadlines.set(.at(1), for: "a")
        let early = deadlines.popDue(now: .at(0.999))
        #expect(early == nil)
        let due = deadlines.popDue(now: .at(1))
        #expect(due?.deadline == .at(1))
        #expect(due?.id == "a")
        let another = deadlines.popDue(now: .at(9))
        #expect(another == nil)
        #expect(deadlines.first == nil)
    }

    @Test func atTheSameMomentTheOneSetFirstComesFirst() {
        var deadlines = Deadlines<Int>()
        for id in 0..<100 { deadlines.set(.at(1), for: id) }
        #expect(drain(&deadlines) == Array(0..<100))
    }

    @Test(arguments: [0.5, 1, 1.5, 4])
    func settingAnewReplaces(deadline: Double) {
        var deadlines = Deadlines<String>()
        for (id, moment) in [("a", 1), ("b", 2), ("c", 3)] as [(String, Double)] { deadlines.set(.at(moment), for: id) }
        deadlines.set(.at(deadline), for: "a")
        #expect(deadlines.count == 3)
        #expect(deadlines.first == .at(min(deadline, 2)))
        #expect(drain(&deadlines) == (deadline < 2 ? ["a", "b", "c"] : ["b", "c", "a"]))
    }

    @Test func whatIsRemovedIsGone() {
        var deadlines = Deadlines<String>()
        for (id, moment) in [("a", 1), ("b", 2), ("c", 3)] as [(String, Double)] { deadlines.set(.at(moment), for: id) }
        deadlines.remove("a")
        deadlines.remove("c")
        deadlines.remove("never set")
        #expect(deadlines.count == 1)
        #expect(drain(&deadlines) == ["b"])
        deadlines.set(.at(1), for: "a")
        deadlines.removeAll()
        #expect(deadlines.count == 0)
        #expect(deadlines.first == nil)
        deadlines.set(.at(2), for: "a")
        #expect(drain(&deadlines) == ["a"])
    }

    /// In any order of operations, it behaves like a list sorted by deadline, then by order of arrival.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func itIsASortedList(seed: UInt64) {
        var random = JitterGenerator(seed: seed)
        var deadlines = Deadlines<Int>()
        var list: [(deadline: MonotonicInstant, order: Int, id: Int)] = []
        let ids = 1...Int.random(in: 1...60, using: &random)
        for order in 0..<300 {
            let id = Int.random(in: ids, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0...4:
                let deadline = MonotonicInstant.at(Double(Int.random(in: 0...30, using: &random)))
                deadlines.set(deadline, for: id)
                list.removeAll { $0.id == id }
                list.append((deadline, order, id))
            case 5, 6:
                deadlines.remove(id)
                list.removeAll { $0.id == id }
            default:
                let now = MonotonicInstant.at(Double(Int.random(in: 0...30, using: &random)))
                let soonest = list.min { ($0.deadline, $0.order) < ($1.deadline, $1.order) }
                let expected = soonest.flatMap { $0.deadline <= now ? $0 : nil }
                let due = deadlines.popDue(now: now)
                #expect(due?.id == expected?.id)
                #expect(due?.deadline == expected?.deadline)
                if let expected { list.removeAll { $0.id == expected.id } }
            }
            #expect(deadlines.count == list.count)
            #expect(deadlines.first == list.map(\.deadline).min())
        }
        let rest = list.sorted { ($0.deadline, $0.order) < ($1.deadline, $1.order) }.map(\.id)
        #expect(drain(&deadlines) == rest)
    }

    private func drain<ID>(_ deadlines: inout Deadlines<ID>) -> [ID] {
        var ids: [ID] = []
        while let next = deadlines.popFirst() { ids.append(next.id) }
        return ids
    }
}
