// Kills a process that syncs a folder, again and again, while both sides are edited, and looks at what is left.
//
//     PydioKill MOMENTS [SEED]             the whole
//     PydioKill sync ADDRESS FOLDER FEED   the process that is killed; says how many steps it did. FEED: yes or no
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
        if arguments.first == "sync", arguments.count == 4 {
            try await sync(arguments[1], URL(fileURLWithPath: arguments[2]), usesFeed: arguments[3] == "yes")
        } else if let moments = arguments.first.flatMap({ Int($0) }) {
            let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1 << 32)
            try await kill(moments: moments, seed: seed)
        } else {
            fail("usage: PydioKill MOMENTS [SEED]")
        }
    }

    private static func sync(_ address: String, _ folder: URL, usesFeed: Bool) async throws {
        let params = ServersParamsManager()
        guard let server = URL(string: address) else { fail("\(address) is no address") }
        params.setUser(User(userid: "ada", password: "open sesame"), forServer: server)
        var clientOptions = PydioClientOptions()
        clientOptions.proxy = ""
        clientOptions.uploadPartSize = 100_000
        var options = PydioSyncOptions()
        options.allowsEmptying = true
        options.usesChangesFeed = usesFeed
        let sync = PydioFolderSync(
            client: PydioClient(server: server, params: params, options: clientOptions), workspaceId: "0",
            localFolder: folder, account: "ada", options: options)
        let summary = try await sync.run()
        guard summary.isComplete else { fail("\(summary.refused)") }
        say("\(summary.counts.values.reduce(0, +))")
    }

    private static func kill(moments: Int, seed: UInt64) async throws {
        say("\(moments) moments, seed \(seed)")
        var random = XorShift(seed: seed)
        let worlds = [
            try await SyncWorld(.v5_2, hasFeed: true, seed: seed),
            try await SyncWorld(.v8, hasFeed: true, seed: seed + 1),
            try await SyncWorld(.v5_2, hasFeed: false, seed: seed + 2),
        ]
        var (kills, steps) = (0, 0)
        var patience = 300_000  // microseconds
        while kills < moments {
            let world = worlds[kills % worlds.count]
            world.beginRound()
            try world.edit(Int.random(in: 20..<100, using: &random), hasConflicts: true)
            for _ in 0..<Int.random(in: 1..<4, using: &random) {
                let process = try start(world)
                let delay = Int.random(in: 0..<patience, using: &random)
                usleep(UInt32(delay / 2))
                if Bool.random(using: &random) { try world.edit(3, hasConflicts: false) }
                usleep(UInt32(delay / 2))
                Glibc.kill(process.child.id, SIGKILL)
                let status = process.child.wait()
                guard status == 128 + SIGKILL || status == 0 else { fail("the sync ended with status \(status)") }
                // As late as syncs end, so that kills come at all their steps.
                if status == 0 {
                    patience = max(patience * 3 / 4, 50_000)
                } else {
                    kills += 1
                    patience = min(patience * 9 / 8, 5_000_000)
                }
            }
            steps += try finish(world)
            do {
                try world.check()
            } catch let wrong as SyncWorld.Wrong {
                fail("after \(kills) kills: \(wrong.what)")
            }
            let more = try finish(world)
            guard more == 0 else { fail("after \(kills) kills: a second sync did \(more) steps") }
        }
        say("\(kills) kills, \(steps) steps after them: nothing lost or doubled, nothing left behind")
        for world in worlds { await world.server.stop() }
    }

    private static func start(_ world: SyncWorld) throws -> (child: ChildProcess, output: FileHandle) {
        let pipe = Pipe()
        let child = try ChildProcess(
            "/proc/self/exe", ["sync", world.server.address, world.folder.path, world.hasFeed ? "yes" : "no"],
            output: pipe.fileHandleForWriting, errors: FileHandle.standardError)
        try pipe.fileHandleForWriting.close()
        return (child, pipe.fileHandleForReading)
    }

    /// Lets a sync end.
    ///
    /// - Returns: How many steps it did.
    private static func finish(_ world: SyncWorld) throws -> Int {
        let process = try start(world)
        let output = String(decoding: try process.output.readToEnd() ?? Data(), as: UTF8.self)
        let status = process.child.wait()
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
