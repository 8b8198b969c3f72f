import JSONBytes
import MatrixEncryption
import TestSupport
import Testing

@Suite struct QRCodeTests {
    private let vectors = Vectors.file("qr_codes")

    private func level(_ vector: JSONView) throws -> QRCode.ErrorCorrection {
        try vector.text("level") == "low" ? .low : .medium
    }

    /// Codes of every version in use, made by another encoder.
    @Test func everyModuleIsAsElsewhere() throws {
        for vector in try vectors.list("codes") {
            let size = Int(try vector.wholeNumber("size"))
            let mask = Int(try vector.wholeNumber("mask"))
            let code = try QRCode(try vector.hex("hex"), errorCorrection: try level(vector), mask: mask)
            let bits = try vector.hex("bits")
            let modules = (0..<size).map { row in
                (0..<size).map { column in
                    let bit = row * size + column
                    return bits[bit / 8] >> (7 - bit % 8) & 1 == 1
                }
            }
            let version = Int(try vector.wholeNumber("version"))
            #expect(code.version == version)
            let differences = zip(code.modules.joined(), modules.joined()).count { $0 != $1 }
            #expect(differences == 0, "version \(version), mask \(mask)")
        }
    }

    @Test func theMaskIsOneOfEight() throws {
        let bytes = Array("a text that any mask may lie over".utf8)
        let code = try QRCode(bytes)
        let all = try (0..<8).map { try QRCode(bytes, mask: $0) }
        #expect(all[code.mask] == code)
        #expect(Set(all.map(\.modules)).count == 8)
    }

    @Test func whatDoesNotFitIsRefused() throws {
        #expect(try QRCode([UInt8](repeating: 0, count: 858)).version == 20)
        #expect(throws: EncryptionError.length) { try QRCode([UInt8](repeating: 0, count: 859)) }
        #expect(throws: EncryptionError.length) {
            try QRCode([UInt8](repeating: 0, count: 667), errorCorrection: .medium)
        }
    }

    @Test func aTerminalShowsTwoRowsALine() throws {
        let code = try QRCode(Array("MATRIX".utf8))
        let onDark = code.lines()
        #expect(onDark.count == (21 + 8 + 1) / 2)
        #expect(onDark.allSatisfy { $0.count == 21 + 8 })
        #expect(onDark[0] == String(repeating: "█", count: 29))
        // The finder's upper edge is dark, and so is what is below its left edge.
        #expect(onDark[2].hasPrefix("████ ▄▄▄▄▄ █"))
        let onBright = code.lines(isOnDark: false)
        #expect(onBright[0] == String(repeating: " ", count: 29))
        #expect(onBright[2].hasPrefix("    █▀▀▀▀▀█ "))
        // Both show the same code.
        for (index, line) in onDark.enumerated() {
            let swapped = String(line.map { ["█": " ", " ": "█", "▀": "▄", "▄": "▀"][$0] ?? "?" })
            #expect(swapped == onBright[index])
        }
    }
}
