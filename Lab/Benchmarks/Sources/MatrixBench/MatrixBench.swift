// CPU time and memory for /sync answers made by Lab/Benchmarks/Matrix/generate.py.
//
//     MatrixBench initial FILE [incremental FILE] [kind parse|read|apply]
//
//     parse   finds the events
//     read    also reads the type, sender and id of each, and the body of messages
//     apply   also updates a session's rooms and a store in memory
//
// Part of the main package, not of Lab/Benchmarks/Package.swift, because it measures code that is not public.
import Foundation
import MatrixProtocol
import MatrixSDK

@main
struct MatrixBench {
    private enum Kind: String {
        case parse, read, apply
    }

    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        var arguments: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { arguments[words[index]] = words[index + 1] }
        guard let initial = arguments["initial"], let kind = Kind(rawValue: arguments["kind"] ?? "parse") else {
            FileHandle.standardError.write(Data("usage: MatrixBench initial FILE [incremental FILE] [kind K]\n".utf8))
            exit(64)
        }
        let memory = try Memory()
        let body = try bytes(of: initial)
        var start = cpuSeconds()
        let response = try SyncResponse(body)
        var account = try Account()
        var used = try use(response, kind, &account)
        var figures: [String: Double] = [
            "seconds": cpuSeconds() - start, "peak_bytes": Double(try memory.peakGrowth()),
            "body_bytes": Double(body.count), "events": Double(count(response)),
            "malformed": Double(response.malformedParts),
        ]
        if let incremental = arguments["incremental"] {
            let answers = try bytes(of: incremental).split(separator: UInt8(ascii: "\n")).map(Array.init)
            var events = 0
            start = cpuSeconds()
            for answer in answers {
                let response = try SyncResponse(answer)
                events += count(response)
                used += try use(response, kind, &account)
            }
            figures["incremental_seconds"] = cpuSeconds() - start
            figures["incremental_events"] = Double(events)
            figures["answers"] = Double(answers.count)
        }
        figures["used"] = Double(used)
        print("{\(figures.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}")
    }

    private static func use(_ response: SyncResponse, _ kind: Kind, _ account: inout Account) throws -> Int {
        switch kind {
        case .parse: 0
        case .read: read(response)
        case .apply: try account.apply(response)
        }
    }

    private static func count(_ response: SyncResponse) -> Int {
        response.joined.reduce(0) { $0 + $1.state.count + $1.timeline.events.count }
    }

    /// A sum over everything read, so that the optimizer removes nothing.
    private static func read(_ response: SyncResponse) -> Int {
        var used = 0
        for room in response.joined {
            for event in room.state + room.timeline.events {
                used += event.type.utf8.count + event.sender.utf8.count + event.eventId.utf8.count
                if event.type == "m.room.message" { used += event.contentJSON["body"]?.string?.utf8.count ?? 0 }
            }
        }
        return used
    }
}

/// A session without its network.
private struct Account {
    private var model = SessionModel(userId: "@me:hs.test")
    private let store = MXMemoryStore()

    init() throws {
        _ = try store.open(userId: model.userId, deviceId: nil)
    }

    mutating func apply(_ response: SyncResponse) throws -> Int {
        let applied = try model.apply(response, store: store, now: .now)
        try store.commit(applied.changes)
        return applied.notices.count
    }
}

private struct CannotRead: Error {
    let path: String
}

/// The bytes of a file, without a second copy in memory.
private func bytes(of path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw CannotRead(path: path) }
    defer { fclose(file) }
    fseek(file, 0, SEEK_END)
    let size = ftell(file)
    rewind(file)
    return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = fread(buffer.baseAddress, 1, size, file)
        guard count == size else { throw CannotRead(path: path) }
    }
}

private func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The peak growth of resident memory since initialization.
private struct Memory {
    private let before: Int

    init() throws {
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)  // resets the peak
        before = try Self.resident("VmRSS")
    }

    func peakGrowth() throws -> Int {
        try Self.resident("VmHWM") - before
    }

    private static func resident(_ field: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw CannotRead(path: "/proc/self/status")
        }
        return kilobytes * 1024
    }
}
