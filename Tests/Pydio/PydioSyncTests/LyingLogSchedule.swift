import Basics
import Foundation
import PydioProtocol
import PydioSync
import PydioTestSupport
import TestSupport
import Testing

/// One random schedule of syncs, kills and changes. Every written file has a unique size that identifies it: files that
/// no user has deleted or overwritten must be on one of the sides after every sync.
final class LyingLogSchedule: Sendable {
    private typealias Sizes = [SyncPath: Int?]

    private struct State {
        var random: XorShift
        var count = 0
        /// Sizes of files that a user has deleted or overwritten.
        var dropped: Set<Int> = []
        /// Requests until the next change during a sync.
        var pause = Int.max
    }

    private let scene: SyncScene
    private let seed: UInt64
    private let state: Lock<State>

    init(seed: UInt64) async throws {
        var configuration = FakePydioServer.Configuration(mode: seed.isMultiple(of: 2) ? .v5_2 : .v8)
        configuration.historyLimit = 0
        scene = try await SyncScene(configuration) { $0.uploadPartSize = 120 }
        self.seed = seed
        state = Lock(State(random: XorShift(seed: seed)))
    }

    func run() async throws {
        scene.server.setLogFaults(.init(seed: seed))
        scene.server.setGate { [weak self] request in
            // Not between a check of a node and its deletion: a protocol without locks cannot detect that.
            if ["changes", "mkdir", "upload", "download", "stat_hash"].contains(request.action) { self?.asked() }
            return nil
        }
        for round in 0..<6 {
            for _ in 0..<number(below: 12) { edit() }
            state.withLock { $0.pause = Int.random(in: 0..<60, using: &$0.random) }
            let alive = alive
            let kill = number(below: 80)
            switch number(below: 4) {
            case 0: break
            case 1:
                scene.server.inject(.cut(after: 0), times: 1, after: kill)
                scene.server.inject(.drop, times: nil, after: kill)
            case _: scene.server.inject(.drop, times: nil, after: kill)
            }
            _ = await failure { try await scene.run { $0.allowsEmptying = true } }
            scene.server.clearFaults()
            check(alive, "round \(round)")
        }
        scene.server.setGate(nil)
        let alive = alive
        try await scene.run {
            $0.allowsEmptying = true
            $0.fullListingInterval = .zero
        }
        check(alive, "the end")
        #expect(local == remote, "seed \(seed)")
        #expect(!local.keys.contains { SyncUpload.isTemporary($0.name) } && scene.parts.isEmpty, "seed \(seed)")
        _ = scene.takeSteps()
        try await scene.run { $0.fullListingInterval = .zero }
        #expect(scene.takeSteps().isEmpty, "seed \(seed)")
        await scene.server.stop()
    }

    private var alive: Set<Int> { sizes.subtracting(state.withLock { $0.dropped }) }

    private var sizes: Set<Int> { Set(local.values.compactMap { $0 } + remote.values.compactMap { $0 }) }

    private func check(_ before: Set<Int>, _ when: String) {
        let lost = before.subtracting(state.withLock { $0.dropped }).subtracting(sizes)
        #expect(lost.isEmpty, "seed \(seed), \(when)")
    }

    // MARK: Both sides

    private var local: Sizes {
        var sizes: Sizes = [:]
        for path in FileManager.default.enumerator(atPath: scene.folder.path)?.compactMap({ $0 as? String }) ?? [] {
            guard path != SyncNames.stateFolder, !path.hasPrefix(SyncNames.stateFolder + "/") else { continue }
            sizes[SyncPath(path)] = .some((try? Data(contentsOf: scene.local(path)))?.count)
        }
        return sizes
    }

    private var remote: Sizes {
        var sizes: Sizes = [:]
        for path in scene.server.paths() where !path.hasPrefix("/recycle_bin") {
            sizes[SyncPath(String(path.dropFirst()))] = .some(scene.server.size(of: path))
        }
        return sizes
    }

    // MARK: Changes

    private func number(below count: Int) -> Int { state.withLock { Int.random(in: 0..<count, using: &$0.random) } }

    private func asked() {
        let isTime = state.withLock { state in
            state.pause -= 1
            guard state.pause < 0 else { return false }
            state.pause = Int.random(in: 0..<20, using: &state.random)
            return true
        }
        if isTime { edit() }
    }

    private func makePath() -> SyncPath {
        let names = ["a", "b.txt", "\u{E9}", "e\u{301}"]
        return SyncPath((0...number(below: 3)).map { _ in names[number(below: names.count)] }.joined(separator: "/"))
    }

    private func edit() {
        let path = makePath()
        let isHere = number(below: 2) == 0
        let tree = isHere ? local : remote
        guard path.parent.isRoot || tree[path.parent] == .some(nil) else { return }
        switch number(below: 8) {
        case 0, 1:
            guard tree[path] != nil else { return }
            drop(tree.filter { $0.key.isWithin(path) })
            remove(path, isHere)
        case 2, 3:
            guard tree[path] == nil else { return }
            makeFolder(path, isHere)
        case 4:
            let target = makePath()
            guard tree[path] != nil, tree[target] == nil, !target.isWithin(path),
                target.parent.isRoot || tree[target.parent] == .some(nil)
            else { return }
            move(path, to: target, isHere)
        case _:
            guard tree[path] != .some(nil) else { return }
            drop(tree.filter { $0.key == path })
            write(path, isHere)
        }
    }

    private func drop(_ nodes: Sizes) {
        let sizes = nodes.values.compactMap { $0 }
        state.withLock { $0.dropped.formUnion(sizes) }
    }

    private func isLogged() -> Bool { number(below: 2) == 0 }

    private func write(_ path: SyncPath, _ isHere: Bool) {
        let size = state.withLock { state in
            state.count += 1
            return state.count
        }
        let text = String(repeating: "\(size % 10)", count: size)
        let place = "/" + path.text
        if isHere {
            try? Data(text.utf8).write(to: scene.local(path.text))
        } else if isLogged() {
            scene.change(place, to: text)
        } else {
            try? scene.server.addFile(place, Array(text.utf8))
        }
    }

    private func makeFolder(_ path: SyncPath, _ isHere: Bool) {
        let place = "/" + path.text
        if isHere {
            try? FileManager.default.createDirectory(at: scene.local(path.text), withIntermediateDirectories: false)
        } else if isLogged() {
            scene.server.act("mkdir", ["dir": "/" + path.parent.text, "dirname": path.name], as: "ada")
        } else {
            scene.server.addFolder(place)
        }
    }

    private func remove(_ path: SyncPath, _ isHere: Bool) {
        if isHere {
            try? scene.remove(path.text)
        } else if isLogged() {
            scene.delete("/" + path.text)
        } else {
            scene.server.remove("/" + path.text)
        }
    }

    private func move(_ path: SyncPath, to target: SyncPath, _ isHere: Bool) {
        if isHere {
            try? FileManager.default.moveItem(at: scene.local(path.text), to: scene.local(target.text))
        } else if isLogged() {
            scene.server.act("rename", ["file": "/" + path.text, "dest": "/" + target.text], as: "ada")
        } else {
            scene.server.move("/" + path.text, to: "/" + target.text)
        }
    }
}
