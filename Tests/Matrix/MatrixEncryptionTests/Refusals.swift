import JSONBytes
import MatrixEncryption
import Synchronization
import Testing

/// Expects a body to be rejected with the error named in a vector, or with any error if it names none.
func expectRefusal(
    _ vector: JSONView, _ name: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws {
    guard let why = vector["why"]?.string else {
        #expect(throws: EncryptionError.self, "\(name)", sourceLocation: location) { try body() }
        return
    }
    let reason = try #require(EncryptionError(rawValue: why), "no reason \(why)", sourceLocation: location)
    #expect(throws: reason, "\(name)", sourceLocation: location) { try body() }
}

extension RandomSource {
    /// A source that returns these bytes in order, then zeros.
    static func fixed(_ bytes: [UInt8]...) -> RandomSource {
        let rest = Mutex(ArraySlice(bytes.flatMap(\.self)))
        return RandomSource { buffer in
            rest.withLock { rest in
                buffer.copyBytes(from: rest.prefix(buffer.count))
                rest = rest.dropFirst(buffer.count)
            }
        }
    }
}

extension [UInt8] {
    /// `count` bytes from a generator that repeats its values in every run.
    static func random(_ count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
