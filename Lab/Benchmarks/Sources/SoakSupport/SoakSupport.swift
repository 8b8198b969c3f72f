// What both sides of the soak share.
public import Foundation

/// A quarter of the channels are private.
public func soakChannelName(_ index: Int) -> String {
    index.isMultiple(of: 4) ? "private-\(index)" : "public-\(index)"
}

/// Milliseconds since 1970: the two processes' common time.
public func milliseconds(_ date: Date = Date()) -> Int {
    Int((date.timeIntervalSince1970 * 1000).rounded())
}

/// The lines of standard input, which are orders.
public func orders() -> AsyncStream<String> {
    AsyncStream { continuation in
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
    }
}

/// A line for whoever gave the orders.
public func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// Lines to a file, from any thread.
public final class Records: @unchecked Sendable {  // the lock protects the rest
    private let lock = NSLock()
    private let file: FileHandle
    private var buffer = Data()

    /// Throws if there can be no file at `path`.
    public init(path: String) throws {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        file = try FileHandle(forWritingTo: URL(filePath: path))
    }

    /// Adds a line.
    public func add(_ line: String) {
        lock.withLock {
            buffer.append(contentsOf: line.utf8)
            buffer.append(10)
            if buffer.count >= 1 << 16 { write() }
        }
    }

    /// Writes what waits.
    public func flush() {
        lock.withLock { write() }
    }

    private func write() {
        do {
            try file.write(contentsOf: buffer)
        } catch {
            fatalError("cannot write the records: \(error)")
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// SplitMix64, so that a run can be repeated from its seed.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// The same seed, the same numbers.
    public init(seed: UInt64) {
        state = seed
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True in that part of all cases.
    public mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }
}
