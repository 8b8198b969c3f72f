import Basics
import CLibcrypto

/// A source of random bytes: the system's generator or, in tests, known bytes.
package struct RandomSource: Sendable {
    private let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    /// - Parameter fill: Fills the whole buffer.
    package init(fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
        self.fill = fill
    }

    /// libcrypto's generator for private values, seeded by the kernel. Without random bytes the process ends, since
    /// anything it created could be guessed.
    package static let system = RandomSource { buffer in
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        guard let start = buffer.baseAddress else { return }
        precondition(
            RAND_priv_bytes(start.assumingMemoryBound(to: UInt8.self), Int32(buffer.count)) == 1,
            "the system has no random bytes")
    }

    package func secret(_ count: Int) -> SecretBytes {
        SecretBytes(count: count, fill: fill)
    }

    /// Returns random bytes for public values: salts, ids.
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { fill($0) }
        return bytes
    }

    /// Returns uniformly distributed letters and digits.
    package func text(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var text: [UInt8] = []
        while text.count < count {
            // 248 of 256 values are four times each character. The others would favour the first eight.
            text += bytes(count - text.count).filter { $0 < 248 }.map { alphabet[Int($0) % alphabet.count] }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
