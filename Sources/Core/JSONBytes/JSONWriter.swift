/// Builds a JSON object member by member.
package struct JSONWriter: Sendable {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    package init() {}

    package mutating func add(_ key: String, _ value: JSONView) {
        begin(key)
        bytes += value.bytes[value.range]
    }

    package mutating func add(_ key: String, _ value: String) {
        begin(key)
        JSONString.append(value, to: &bytes)
    }

    package mutating func add(_ key: String, _ value: JSONWriter) {
        begin(key)
        bytes += value.object
    }

    package mutating func add(_ key: String, json: String) {
        begin(key)
        bytes += json.utf8
    }

    package var view: JSONView {
        let object = object
        return JSONView(bytes: object, range: object.indices)
    }

    package var text: String { String(decoding: object, as: UTF8.self) }

    private var object: [UInt8] { bytes + [UInt8(ascii: "}")] }

    private mutating func begin(_ key: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONString.append(key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}
