// Shared code of both sides of the soak.
public import Foundation

/// The name of a channel. A quarter of them are private.
public func soakChannelName(_ index: Int) -> String {
    index.isMultiple(of: 4) ? "private-\(index)" : "public-\(index)"
}

/// Milliseconds since 1970, on the clock shared by the two processes.
public func milliseconds(_ date: Date = Date()) -> Int {
    Int((date.timeIntervalSince1970 * 1000).rounded())
}

/// The lines of standard input, each a command.
public func orders() -> AsyncStream<String> {
    AsyncStream { continuation in
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
    }
}

/// Prints a line for the controlling process.
public func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// A file of lines, written from any thread.
public final class Records: @unchecked Sendable {  // the lock protects the rest
    private let lock = NSLock()
    private let file: FileHandle
    private var buffer = Data()

    /// Opens the file; throws if it cannot be created at `path`.
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

    /// Writes pending lines.
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

/// SplitMix64, which makes a run repeatable from its seed.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// Equal seeds produce equal numbers.
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

    /// Returns true with the given probability.
    public mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }
}
