// Repeatedly kills a process that commits to a file store, and compares the store with one in memory that got the same
// commits.
//
//     MatrixKill MOMENTS [SEED]      the whole test
//     MatrixKill write FOLDER        the process to kill: commits without end, prints each number once it is done
//     MatrixKill fill FOLDER BYTES   commits until files would exceed the size; then checks the store
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport

@main
struct MatrixKill {
    private static let userId = "@kill:example.org"
    private static let eventsPerRoom = 100

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "write", let folder = arguments.last {
            try write(URL(fileURLWithPath: folder))
        } else if arguments.first == "fill", arguments.count == 3, let bytes = arguments.last.flatMap({ UInt($0) }) {
            try fill(URL(fileURLWithPath: arguments[2]), bytes: bytes)
        } else if let moments = arguments.first.flatMap({ Int($0) }) {
            let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1 << 32)
            try await kill(moments: moments, seed: seed)
        } else {
            fail("usage: MatrixKill MOMENTS [SEED]")
        }
    }

    private static func open(_ folder: URL) throws -> (MXFileStore, MXStoredSession) {
        let store = MXFileStore(folder: folder, eventsPerRoom: eventsPerRoom)
        let session = try store.open(userId: userId, deviceId: "DEVICE")
        if let reason = session.rebuildReason { fail("the store was rebuilt: \(reason)") }
        return (store, session)
    }

    private static func write(_ folder: URL) throws {
        let (store, session) = try open(folder)
        var number = ChangeStream.next(after: session.syncToken)
        while true {
            try store.commit(ChangeStream.changes(number))
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }

    private static func fill(_ folder: URL, bytes: UInt) throws {
        signal(SIGXFSZ, SIG_IGN)
        setLimit(bytes)
        let (store, _) = try open(folder)
        var number = 0
        do {
            while number < 10_000 {
                try store.commit(ChangeStream.changes(number))
                number += 1
            }
            fail("the limit is not felt")
        } catch {
            print(error)
        }
        // The store may continue once there is space again; the next one must.
        setLimit(bytes * 100)
        do {
            try store.commit(ChangeStream.changes(number))
            number += 1
        } catch {
            print(error)
        }
        store.close()
        let reached = ChangeStream.next(after: try open(folder).1.syncToken)
        guard reached == number else { fail("the store has \(reached) commits, not \(number)") }
        print("the store is as it was")
    }

    private static func setLimit(_ bytes: UInt) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        limit.rlim_cur = bytes
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    }

    private static func kill(moments: Int, seed: UInt64) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("matrix-kill-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        print("\(moments) moments, seed \(seed)")
        var random = SplitMix(state: seed)
        // The model contains the first `next` commits.
        let model = MXMemoryStore(eventsPerRoom: eventsPerRoom)
        var contents = try model.open(userId: userId, deviceId: nil)
        var (next, whileOpening, unsaid) = (0, 0, 0)
        for moment in 1...moments {
            let said = try await killWriter(
                of: folder, whileOpening: moment % 4 == 0, after: random.next(below: 100_000))
            let (store, session) = try open(folder)
            let reached = ChangeStream.next(after: session.syncToken)
            // The next commit may be done without having been printed.
            let least = said.map { $0 + 1 } ?? next
            guard reached == least || reached == least + 1 else {
                fail("moment \(moment): the store has \(reached) commits, \(least) were done")
            }
            if said == nil { whileOpening += 1 }
            if reached > least { unsaid += 1 }
            while next < reached {
                let changes = ChangeStream.changes(next)
                try model.commit(changes)
                contents.apply(changes)
                next += 1
            }
            for number in 0..<12 {
                let roomId = ChangeStream.roomId(number)
                guard let token = try model.trimTimeline(of: roomId) else { continue }
                contents.trimmed(roomId, token: token)
            }
            let expected = try StoreContents(contents, model)
            if let difference = try StoreContents(session, store).difference(from: expected) {
                fail("moment \(moment), after commit \(reached - 1): different are \(difference)")
            }
            store.close()
        }
        print(
            "\(next) commits, nothing lost or doubled: \(whileOpening) kills before the first commit, \(unsaid) between a "
                + "commit and its being said")
    }

    /// - Parameters:
    ///   - whileOpening: Whether the time counts from the start of the process rather than from its first commit.
    /// - Returns: The last commit that the writer reported as done; `nil` if there was none.
    private static func killWriter(
        of folder: URL, whileOpening: Bool, after microseconds: Int
    ) async throws -> Int? {
        let pipe = Pipe()
        let writer = try ChildProcess(
            "/proc/self/exe", ["write", folder.path], output: pipe.fileHandleForWriting,
            errors: FileHandle.standardError)
        try pipe.fileHandleForWriting.close()
        var output = Data()
        if !whileOpening { output = pipe.fileHandleForReading.availableData }
        usleep(UInt32(microseconds))
        Glibc.kill(writer.id, SIGKILL)
        let status = await writer.status()
        guard status == 128 + SIGKILL else { fail("the writer ended by itself with status \(status)") }
        output += try pipe.fileHandleForReading.readToEnd() ?? Data()
        return String(decoding: output, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("MatrixKill: \(message)\n".utf8))
        exit(1)
    }
}

extension MXStoredSession {
    /// Applies changes as a store reports them at its next start.
    fileprivate mutating func apply(_ changes: MXStoreChanges) {
        if changes.replacesEverything { self = MXStoredSession() }
        for (roomId, room) in changes.rooms {
            if room.isRemoved {
                summaries.removeAll { $0.roomId == roomId }
                (strippedStates[roomId], roomAccountData[roomId]) = (nil, nil)
                outgoing.removeAll { $0.roomId == roomId }
            }
            if let stripped = room.strippedState { strippedStates[roomId] = stripped.isEmpty ? nil : stripped }
            if let summary = room.summary {
                summaries.removeAll { $0.roomId == roomId }
                summaries.append(summary)
            }
            roomAccountData[roomId, default: []].put(room.accountData, by: \.type)
        }
        accountData.put(changes.accountData, by: \.type)
        presence.put(changes.presence, by: \.sender)
        outgoing += changes.outgoing
        outgoing.removeAll { changes.sentOutgoing.contains($0.transactionId) }
        syncToken = changes.syncToken
    }

    fileprivate mutating func trimmed(_ roomId: String, token: String) {
        for index in summaries.indices where summaries[index].roomId == roomId {
            summaries[index].paginationToken = token
        }
    }
}

extension [MXEvent] {
    fileprivate mutating func put(_ events: [MXEvent], by key: (MXEvent) -> String) {
        for event in events {
            removeAll { key($0) == key(event) }
            append(event)
        }
    }
}
