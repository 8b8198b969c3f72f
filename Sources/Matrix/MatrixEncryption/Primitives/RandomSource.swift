import Basics
import CLibcrypto

/// Where random bytes come from: the system's generator, or in tests bytes that are known.
package struct RandomSource: Sendable {
    private let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    /// - Parameter fill: Fills all of what it gets.
    package init(fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
        self.fill = fill
    }

    /// libcrypto's generator for private values, seeded by the kernel. A process that has no random bytes ends: whatever it
    /// made of others could be guessed.
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

    /// Those that may be seen: salts, ids.
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { fill($0) }
        return bytes
    }

    /// Letters and digits, each as likely as the others.
    package func text(_ count: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var text: [UInt8] = []
        while text.count < count {
            // Of 256 values 248 are four times each character; the others would favour the first eight.
            text += bytes(count - text.count).filter { $0 < 248 }.map { alphabet[Int($0) % alphabet.count] }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
