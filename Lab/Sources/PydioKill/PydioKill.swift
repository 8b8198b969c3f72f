// Repeatedly kills a process that syncs a folder while both sides are edited, and checks the result.
//
//     PydioKill MOMENTS [SEED]             the whole test
//     PydioKill lying ROUNDS [SEED]        like it, but with logs of changes that have missing, late and duplicate
//                                          entries, and with unlogged changes on the server's disk
//     PydioKill sync ADDRESS FOLDER FEED   the process to kill; prints the number of its steps. FEED: yes, no, or
//                                          whole, which lists everything in spite of the log
import Basics
import Foundation
import PydioSDK
import PydioSync
import PydioTestSupport
import TestSupport

@main
struct PydioKill {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "sync", arguments.count == 4, let feed = Feed(rawValue: arguments[3]) {
            return try await sync(arguments[1], URL(fileURLWithPath: arguments[2]), feed)
        }
        let isLying = arguments.first == "lying"
        let numbers = arguments.dropFirst(isLying ? 1 : 0)
        guard let count = numbers.first.flatMap({ Int($0) }) else {
            fail("usage: PydioKill MOMENTS [SEED], or PydioKill lying ROUNDS [SEED]")
        }
        let seed = numbers.dropFirst().first.flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1 << 32)
        try await kill(isLying ? .rounds(count) : .kills(count), seed: seed)
    }

    private enum Feed: String {
        case yes, no, whole
    }

    private enum End {
        case kills(Int)
        /// With lying logs.
        case rounds(Int)
    }

    private static func sync(_ address: String, _ folder: URL, _ feed: Feed) async throws {
        let params = ServersParamsManager()
        guard let server = URL(string: address) else { fail("\(address) is no address") }
        params.setUser(User(userid: "ada", password: "open sesame"), forServer: server)
        var clientOptions = PydioClientOptions()
        clientOptions.proxy = ""
        clientOptions.uploadPartSize = 100_000
        var options = PydioSyncOptions()
        options.allowsEmptying = true
        options.usesChangesFeed = feed != .no
        if feed == .whole { options.fullListingInterval = .zero }
        let sync = PydioFolderSync(
            client: PydioClient(server: server, params: params, options: clientOptions), workspaceId: "0",
            localFolder: folder, account: "ada", options: options)
        let summary = try await sync.run()
        guard summary.isComplete else { fail("\(summary.refused)") }
        say("\(summary.counts.values.reduce(0, +))")
    }

    private static func kill(_ end: End, seed: UInt64) async throws {
        let worlds: [SyncWorld]
        switch end {
        case .kills(let count):
            say("\(count) kills, seed \(seed)")
            worlds = [
                try await SyncWorld(.v5_2, hasFeed: true, seed: seed),
                try await SyncWorld(.v8, hasFeed: true, seed: seed + 1),
                try await SyncWorld(.v5_2, hasFeed: false, seed: seed + 2),
            ]
        case .rounds(let count):
            say("\(count) rounds with logs that lie, seed \(seed)")
            worlds = [
                try await SyncWorld(.v5_2, hasFeed: true, isLying: true, seed: seed),
                try await SyncWorld(.v8, hasFeed: true, isLying: true, seed: seed + 1),
            ]
        }
        var random = XorShift(seed: seed)
        var (rounds, kills, steps) = (0, 0, 0)
        var patience = 300_000  // microseconds
        func isOver() -> Bool {
            switch end {
            case .kills(let count): kills >= count
            case .rounds(let count): rounds >= count
            }
        }
        while !isOver() {
            let world = worlds[rounds % worlds.count]
            rounds += 1
            world.beginRound()
            try world.edit(Int.random(in: 20..<100, using: &random), hasConflicts: true)
            for _ in 0..<Int.random(in: 1..<4, using: &random) {
                let process = try start(world)
                let delay = Int.random(in: 0..<patience, using: &random)
                usleep(UInt32(delay / 2))
                if Bool.random(using: &random) { try world.edit(3, hasConflicts: false) }
                usleep(UInt32(delay / 2))
                Glibc.kill(process.child.id, SIGKILL)
                let status = await process.child.status()
                guard status == 128 + SIGKILL || status == 0 else { fail("the sync ended with status \(status)") }
                // Close to the end of a sync, so that kills hit all of its steps.
                if status == 0 {
                    patience = max(patience * 3 / 4, 50_000)
                } else {
                    kills += 1
                    patience = min(patience * 9 / 8, 5_000_000)
                }
            }
            steps += try await finish(world)
            do {
                try world.check()
            } catch let wrong as SyncWorld.Wrong {
                fail("after \(kills) kills: \(wrong.what)")
            }
            let more = try await finish(world)
            guard more == 0 else { fail("after \(kills) kills: a second sync did \(more) steps") }
        }
        say("\(rounds) rounds, \(kills) kills, \(steps) steps after them: nothing lost or doubled, nothing left behind")
        for world in worlds { await world.server.stop() }
    }

    private static func start(
        _ world: SyncWorld, isLast: Bool = false
    ) throws -> (child: ChildProcess, output: FileHandle) {
        let pipe = Pipe()
        let feed: Feed = world.hasFeed ? isLast && world.isLying ? .whole : .yes : .no
        let child = try ChildProcess(
            "/proc/self/exe", ["sync", world.server.address, world.folder.path, feed.rawValue],
            output: pipe.fileHandleForWriting, errors: FileHandle.standardError)
        try pipe.fileHandleForWriting.close()
        return (child, pipe.fileHandleForReading)
    }

    /// Lets a sync finish.
    ///
    /// - Returns: The number of its steps.
    private static func finish(_ world: SyncWorld) async throws -> Int {
        let process = try start(world, isLast: true)
        let output = String(decoding: await onThread { (try? process.output.readToEnd()) ?? Data() }, as: UTF8.self)
        let status = await process.child.status()
        guard status == 0, let steps = Int(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            fail("the sync ended with status \(status): \(output)")
        }
        return steps
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("PydioKill: \(message)\n".utf8))
        exit(1)
    }
}
