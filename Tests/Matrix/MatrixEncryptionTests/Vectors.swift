import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

/// The values of `Fixtures/matrix-encryption`, made or checked by other implementations.
enum Vectors {
    static var primitives: JSONView { file("primitives") }

    static func file(_ name: String) -> JSONView {
        (try? Fixtures.data("matrix-encryption/\(name).json")).flatMap { JSONView(Array($0)) } ?? .nothing
    }
}

extension JSONView {
    func value(_ key: String, at location: SourceLocation = #_sourceLocation) throws -> JSONView {
        try #require(self[key], "no \(key)", sourceLocation: location)
    }

    func list(_ key: String, at location: SourceLocation = #_sourceLocation) throws -> [JSONView] {
        let list = try #require(self[key]?.array, "no list \(key)", sourceLocation: location)
        try #require(!list.isEmpty, sourceLocation: location)
        return list
    }

    func text(_ key: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        try #require(self[key]?.string, "no text \(key)", sourceLocation: location)
    }

    func texts(_ key: String) throws -> [String] { try list(key).map { try #require($0.string) } }

    func hex(_ key: String) throws -> [UInt8] { try Hexadecimal.bytes(try text(key)) }

    /// Up to 2⁶⁴ − 1, beyond the range of ``int``.
    func wholeNumber(_ key: String) throws -> UInt64 {
        try #require(UInt64(try value(key).compactText))
    }
}

enum Hexadecimal {
    static func bytes(_ text: String) throws -> [UInt8] {
        let digits = Array(text)
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0..<min($0 + 2, digits.count)]), radix: 16))
        }
    }
}
