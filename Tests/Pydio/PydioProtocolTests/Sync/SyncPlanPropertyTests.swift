import PydioProtocol
import TestSupport
import Testing

/// Random trees and edits on both sides.
struct SyncPlanPropertyTests {
    private typealias Side = WritableKeyPath<SyncModel, [SyncPath: SyncModel.Entry]>

    /// A user's edit on one side.
    private static func edit(_ model: inout SyncModel, _ side: Side, _ random: inout XorShift, _ content: inout Int) {
        let names = (0...Int.random(in: 0..<3, using: &random)).map { _ in
            ["a", "b", "b.c", "a (conflict day)"].randomElement(using: &random) ?? "a"
        }
        let path = SyncPath(names.joined(separator: "/"))
        guard path.parent.isRoot || model[keyPath: side][path.parent] == .folder else { return }
        func clear(_ model: inout SyncModel) {
            for inside in model[keyPath: side].keys where inside.isWithin(path) { model[keyPath: side][inside] = nil }
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: clear(&model)
        case 2, 3:
            if model[keyPath: side][path] != .folder { clear(&model) }
            model[keyPath: side][path] = .folder
        case 4 where model.local[path]?.content != nil && model.remote[path]?.content != nil:
            // The same change on both sides.
            content += 1
            model.local[path] = .file(content: content, stamp: model.makeStamp())
            model.remote[path] = .file(content: content, stamp: model.makeStamp())
        case _:
            clear(&model)
            content += 1
            model[keyPath: side][path] = .file(content: content, stamp: model.makeStamp())
        }
    }

    /// Contents of files that are new or changed on a side since they were recorded.
    private static func changed(_ model: SyncModel) -> Set<Int> {
        var result: Set<Int> = []
        for (path, entry) in model.local {
            guard let content = entry.content, let here = entry.node.version else { continue }
            if case .file(let local, _, let md5) = model.records[path], here.isSame(as: local, md5: md5) { continue }
            result.insert(content)
        }
        for (path, entry) in model.remote {
            guard let content = entry.content, let there = entry.node.version else { continue }
            if case .file(_, let remote, let md5) = model.records[path], there.isSame(as: remote, md5: md5) { continue }
            result.insert(content)
        }
        return result
    }

    private static func all(_ side: [SyncPath: SyncModel.Entry]) -> Set<Int> { Set(side.values.compactMap(\.content)) }

    @Test(arguments: 0..<40)
    func bothSidesBecomeTheSame_andNoChangeIsLost(part: Int) throws {
        for seed in part * 50..<part * 50 + 50 {
            var random = XorShift(seed: UInt64(seed))
            var model = SyncModel()
            var content = 0
            for round in 0..<4 {
                for _ in 0..<Int.random(in: 0..<12, using: &random) { Self.edit(&model, \.local, &random, &content) }
                for _ in 0..<Int.random(in: 0..<12, using: &random) { Self.edit(&model, \.remote, &random, &content) }
                var kept = Self.changed(model)
                // Some runs are killed, and edits continue meanwhile.
                if Int.random(in: 0..<2, using: &random) == 0 {
                    let plan = model.plan
                    model.settle(plan)
                    let count = Int.random(in: 0..<(plan.steps.count + 1), using: &random)
                    for (index, step) in plan.steps.prefix(count).enumerated() {
                        try model.carryOut(step, isRecorded: index < count - 1)
                    }
                    #expect(kept.isSubset(of: Self.all(model.local).union(Self.all(model.remote))), "seed \(seed)")
                    for _ in 0..<Int.random(in: 0..<3, using: &random) { Self.edit(&model, \.local, &random, &content) }
                    for _ in 0..<Int.random(in: 0..<3, using: &random) {
                        Self.edit(&model, \.remote, &random, &content)
                    }
                    kept = Self.changed(model)
                }
                do {
                    try model.sync()
                } catch {
                    Issue.record("seed \(seed), round \(round): \(error)")
                    return
                }
                #expect(
                    SyncModel.contents(model.local) == SyncModel.contents(model.remote), "seed \(seed), round \(round)")
                #expect(kept.isSubset(of: Self.all(model.local)), "seed \(seed), round \(round)")
                #expect(model.plan == SyncPlan(), "seed \(seed), round \(round)")
                #expect(Set(model.records.keys) == Set(model.local.keys), "seed \(seed), round \(round)")
            }
        }
    }

    @Test(arguments: [PydioSyncDirection.up, .down], 0..<10)
    func oneWayLeavesTheOtherSideAlone(direction: PydioSyncDirection, part: Int) throws {
        for seed in part * 50..<part * 50 + 50 {
            var random = XorShift(seed: UInt64(seed))
            var model = SyncModel()
            model.direction = direction
            var content = 0
            for _ in 0..<4 {
                for _ in 0..<Int.random(in: 0..<12, using: &random) { Self.edit(&model, \.local, &random, &content) }
                for _ in 0..<Int.random(in: 0..<12, using: &random) { Self.edit(&model, \.remote, &random, &content) }
                let before = model
                let plan = model.plan
                model.settle(plan)
                for step in plan.steps where direction != .up || step.kind != .compare { try model.carryOut(step) }
                switch direction {
                case .up: #expect(model.local == before.local, "seed \(seed)")
                case .down: #expect(model.remote == before.remote, "seed \(seed)")
                case .both: break
                }
                #expect(
                    Self.changed(before).isSubset(of: Self.all(model.local).union(Self.all(model.remote))),
                    "seed \(seed)")
            }
        }
    }
}
