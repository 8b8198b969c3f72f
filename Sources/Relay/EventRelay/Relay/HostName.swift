import Basics
import Glibc
import RelayProtocol

enum HostName {
    static var current: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0,
            let name = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self),
            !name.isEmpty
        else { return "relay" }
        return String(name.prefix(64))
    }
}

extension String {
    fileprivate init?(validating bytes: ArraySlice<CChar>, as encoding: UTF8.Type) {
        self.init(validating: bytes.map { UInt8(bitPattern: $0) }, as: encoding)
    }
}

/// A digest that shows whether relays have the same units.
enum UnitsDigest {
    static func of(_ units: [String]) -> String {
        let text = units.sorted().joined(separator: "\n")
        return Digest.sha256(Array(text.utf8)).prefix(8).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
