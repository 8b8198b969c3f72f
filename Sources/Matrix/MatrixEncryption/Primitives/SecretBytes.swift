import Basics
import CLibsodium

/// Confidential bytes. They never change, and are wiped when the last owner releases them.
///
/// They cannot be printed, dumped or encoded by accident. Comparison takes constant time.
package final class SecretBytes: Confidential, Equatable, @unchecked Sendable {
    // Unchecked: never written after `init`.
    private let memory: UnsafeMutableRawBufferPointer

    /// - Parameter fill: Receives `count` zero bytes.
    package init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        memory = .allocate(byteCount: count, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(memory)
    }

    package convenience init(_ bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    /// Joins several values.
    package convenience init(joining parts: [SecretBytes]) {
        self.init(count: parts.reduce(0) { $0 + $1.count }) { memory in
            var offset = 0
            for part in parts {
                UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + part.count])
                    .copyMemory(from: UnsafeRawBufferPointer(part.memory))
                offset += part.count
            }
        }
    }

    deinit {
        if let start = memory.baseAddress { sodium_memzero(start, memory.count) }
        memory.deallocate()
    }

    package var count: Int { memory.count }

    /// Gives access to the bytes. Copy them into arrays only where they leave: for a file, an answer or a database.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(memory))
    }

    /// - Parameter range: Within `0..<count`.
    package subscript(range: Range<Int>) -> SecretBytes {
        SecretBytes(memory[range])
    }

    package static func == (lhs: SecretBytes, rhs: SecretBytes) -> Bool {
        guard lhs.count == rhs.count else { return false }
        guard let left = lhs.memory.baseAddress, let right = rhs.memory.baseAddress else { return true }
        return sodium_memcmp(left, right, lhs.count) == 0
    }

    package var description: String { "\(count) secret bytes" }
}
