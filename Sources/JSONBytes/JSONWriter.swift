/// Puts a JSON object together from values that are JSON already, and from texts.
struct JSONObjectWriter {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    mutating func add(_ key: String, _ value: JSONView) {
        begin(key)
        bytes.append(contentsOf: value.bytes[value.range])
    }

    mutating func add(_ key: String, _ value: String) {
        begin(key)
        quote(value)
    }

    mutating func add(_ key: String, _ value: JSONObjectWriter) {
        begin(key)
        bytes.append(contentsOf: value.bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// The finished object.
    var view: JSONView {
        let all = bytes + [UInt8(ascii: "}")]
        return JSONView(bytes: all, range: all.indices)
    }

    private mutating func begin(_ key: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        quote(key)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x00..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
