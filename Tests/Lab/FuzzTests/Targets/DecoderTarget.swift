import Foundation
import JSONBytes

/// Our decoder and Foundation's agree on a text for types of any shape: the same value, or the same error.
///
/// The bytes select options and a shape. The text is then generated to fit and slightly damaged, or taken from the
/// remaining bytes.
func fuzzDecoder(_ bytes: [UInt8]) throws(BrokenClaim) {
    var choices = Choices(bytes)
    var options = DecoderOptions(&choices)
    let shape = Shape(&choices, depth: 4)
    var text = choices.next(4) > 0 ? Array(shape.text(&choices).utf8) : choices.rest
    if choices.next(3) == 0 { spoil(&text, &choices) }

    options.plan = Plan(shape)
    let theirs = Outcome { try options.theirs.decode(Shaped.self, from: Data(text)) }
    options.plan = Plan(shape)
    let ours = Outcome { try options.ours.decode(Shaped.self, from: text) }

    // The common ground of both, without the exceptions in our decoder's documentation.
    let members = JSONView(text).map { keys(in: $0) } ?? (unique: true, plain: true, wide: false)
    guard members.unique, members.plain else { return }
    switch (theirs, ours) {
    case (.value(let theirs), .value(let ours)):
        try claim("the same value", theirs == ours)
    case (.value, .error(let error)):
        try claim("what Foundation reads is read if it is JSON: \(error)", members.wide || !isStrictJSON(text))
    case (.error(let error), .value):
        try claim("what Foundation refuses is refused: \(error)", members.wide)
    case (.error(let theirs), .error(let ours)):
        // Foundation reads a dictionary in any order, so it may find another of its errors.
        guard isStrictJSON(text), !shape.hasDictionary, !members.wide else { return }
        try claim("the same error: \(theirs), \(ours)", theirs == ours)
    }
}

private enum Outcome {
    case value(String)
    case error(String)

    init(_ body: () throws -> Shaped) {
        do {
            self = .value(try body().seen)
        } catch {
            self = .error((error as? DecodingError).map(Self.text) ?? "\(error)")
        }
    }

    private static func text(_ error: DecodingError) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        return switch error {
        case .keyNotFound(let key, let context): "no key \(key.stringValue) at \(path(context))"
        case .typeMismatch(let type, let context): "no \(type) at \(path(context))"
        case .valueNotFound(let type, let context): "null for \(type) at \(path(context))"
        case .dataCorrupted: "data corrupted"
        @unknown default: "\(error)"
        }
    }
}

// MARK: Intentional differences

/// Returns whether no object has equal keys, in any strategy, and whether all keys are ASCII. Also returns whether any
/// number from 2⁵³ on has more than digits: Foundation cuts off its fraction, or rejects its exponent.
private func keys(in view: JSONView) -> (unique: Bool, plain: Bool, wide: Bool) {
    var (unique, plain, wide) = (true, true, false)
    var rest = [view]
    while let value = rest.popLast() {
        var seen: Set<String> = []
        for (key, member) in value.members {
            plain = plain && key.utf8.allSatisfy { $0 < 0x80 }
            unique = seen.insert(key.filter { $0 != "_" && $0 != "x" }.lowercased()).inserted && unique
            rest.append(member)
        }
        rest += value.array ?? []
        let isWide = value.double.map { $0.magnitude >= 0x1p53 } ?? false
        wide = wide || isWide && value.data.contains { !(0x2D...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    }
    return (unique, plain, wide)
}

/// Foundation accepts more than JSON: other encodings, byte order marks, a comma after the last element.
private func isStrictJSON(_ text: [UInt8]) -> Bool {
    guard String(validating: text, as: UTF8.self) != nil, !text.starts(with: [0xEF, 0xBB, 0xBF]), !text.contains(0),
        (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
    else { return false }
    var (isInString, isEscaped, isBehindComma) = (false, false, false)
    for byte in text {
        if isInString {
            if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            continue
        }
        if byte == UInt8(ascii: "\"") { isInString = true }
        if isBehindComma, byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { return false }
        if byte > 0x20 { isBehindComma = byte == UInt8(ascii: ",") }
    }
    return true
}

// MARK: Choices

/// Decisions derived from bytes; all are 0 once the bytes are used up.
private struct Choices {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func next(_ count: Int) -> Int {
        guard index < bytes.count else { return 0 }
        defer { index += 1 }
        return Int(bytes[index]) % count
    }

    mutating func of<Element>(_ elements: [Element]) -> Element { elements[next(elements.count)] }

    var rest: [UInt8] { Array(bytes.dropFirst(index)) }
}

private struct DecoderOptions {
    let theirs = JSONDecoder()
    var ours = JSONBytesDecoder()

    init(_ choices: inout Choices) {
        switch choices.next(8) {
        case 1: (theirs.dateDecodingStrategy, ours.dateDecodingStrategy) = (.secondsSince1970, .secondsSince1970)
        case 2: (theirs.dateDecodingStrategy, ours.dateDecodingStrategy) = (.iso8601, .iso8601)
        case 3:
            (theirs.dateDecodingStrategy, ours.dateDecodingStrategy) = (.millisecondsSince1970, .millisecondsSince1970)
        default: break
        }
        if choices.next(4) == 1 {
            (theirs.dataDecodingStrategy, ours.dataDecodingStrategy) = (.deferredToData, .deferredToData)
        }
        if choices.next(2) == 1 {
            theirs.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "a", negativeInfinity: "-inf", nan: "")
            ours.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "a", negativeInfinity: "-inf", nan: "")
        }
        switch choices.next(6) {
        case 1: (theirs.keyDecodingStrategy, ours.keyDecodingStrategy) = (.convertFromSnakeCase, .convertFromSnakeCase)
        case 2: (theirs.keyDecodingStrategy, ours.keyDecodingStrategy) = (.custom(Self.convert), .custom(Self.convert))
        default: break
        }
    }

    /// A conversion that depends on the path.
    @Sendable private static func convert(_ path: [any CodingKey]) -> any CodingKey {
        let key = path.last?.stringValue ?? ""
        return Name(path.dropLast().contains { $0.stringValue == "b" } ? key + "x" : key)
    }

    var plan = Plan(.leaf(0)) {
        didSet {
            guard let key = Plan.key else { return }
            theirs.userInfo[key] = plan
            ours.userInfo[key] = plan
        }
    }
}

// MARK: Shapes

private let names = ["a", "b", "one_two", "oneTwo", "_x_", "k\"ey", "a longer key than fits into a small string", "bx"]

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

private struct Scalars: Decodable {
    var a: Int
    var b: String?
    var oneTwo: Double?
    var bx: Bool?
    var int8: Int8?
    var uint: UInt?
    var float: Float?
}

private enum Payload: Decodable {
    case a(Int, oneTwo: String?)
    case b
}

private enum Side: String, Decodable { case a, b }

private class Base: Decodable { var a: Int? }

private final class Derived: Base {
    var b: String?
    private enum CodingKeys: CodingKey { case b }
    required init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        b = try members.decodeIfPresent(String.self, forKey: .b)
        try super.init(from: try members.superDecoder())
    }
}

private let leaves: [any (Decodable & SendableMetatype).Type] = [
    Int.self, String.self, Double.self, Bool.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self,
    UInt.self,
    UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self, Float.self, Date.self, Data.self, Decimal.self,
    URL.self, Int?.self, String?.self, Scalars.self, Payload.self, Side.self, Derived.self, [Int].self, [Double?].self,
    [String: Int].self, [Int: String].self, [[String]].self, [Scalars].self, [String: Scalars].self,
]

private protocol Keyed {}
extension Dictionary: Keyed {}

private indirect enum Shape: Sendable {
    case leaf(Int)
    case list(Shape)
    case dictionary(Shape)
    /// - Parameter way: The API that requests the member.
    case object([(name: String, way: Int, shape: Shape)])
    case row([(way: Int, shape: Shape)])

    init(_ choices: inout Choices, depth: Int) {
        switch depth == 0 ? 0 : choices.next(8) {
        case 1: self = .list(Shape(&choices, depth: depth - 1))
        case 2: self = .dictionary(Shape(&choices, depth: depth - 1))
        case 3, 4, 5:
            var members: [(String, Int, Shape)] = []
            for _ in 0..<choices.next(7) {
                members.append((choices.of(names), choices.next(6), Shape(&choices, depth: depth - 1)))
            }
            self = .object(members)
        case 6:
            var elements: [(Int, Shape)] = []
            for _ in 0..<choices.next(5) { elements.append((choices.next(6), Shape(&choices, depth: depth - 1))) }
            self = .row(elements)
        default: self = .leaf(choices.next(leaves.count))
        }
    }

    var hasDictionary: Bool {
        switch self {
        case .leaf(let index): leaves[index] is any Keyed.Type
        case .list(let shape): shape.hasDictionary
        case .dictionary: true
        case .object(let members): members.contains { $0.shape.hasDictionary }
        case .row(let elements): elements.contains { $0.shape.hasDictionary }
        }
    }

    /// Returns JSON that often fits.
    func text(_ choices: inout Choices) -> String {
        if choices.next(20) == 1 { return choices.of(["null", "[]", "{}", "0", #""""#, "true"]) }
        let blank = choices.of(["", "", "", "", " ", "\n\t"])
        func list(_ shape: Shape, _ choices: inout Choices) -> String {
            "[" + (0..<choices.next(4)).map { _ in shape.text(&choices) }.joined(separator: "," + blank) + "]"
        }
        func member(_ name: String, _ value: String) -> String { JSONString.quoted(name) + blank + ":" + value }
        switch self {
        case .leaf(let index): return Self.leaf(index, &choices)
        case .list(let shape): return list(shape, &choices)
        case .dictionary(let shape):
            return "{"
                + names.prefix(choices.next(names.count)).map { member($0, shape.text(&choices)) }
                .joined(separator: "," + blank) + blank + "}"
        case .object(let members):
            var parts: [String] = []
            for (name, _, shape) in choices.next(3) == 1 ? members.reversed() : members where choices.next(12) != 1 {
                parts.append(member(name, shape.text(&choices)))
            }
            if choices.next(4) == 1 { parts.append(member("super", Shape.leaf(22).text(&choices))) }
            return "{" + blank + parts.joined(separator: blank + ",") + "}"
        case .row(let elements):
            return "[" + elements.map { $0.shape.text(&choices) }.joined(separator: blank + "," + blank) + "]"
        }
    }

    private static func leaf(_ index: Int, _ choices: inout Choices) -> String {
        let number = [
            "0", "1", "-1", "127", "128", "255", "-129", "65536", "1.5", "-0.0", "1e2", "1.0", "1e-2", "4294967296",
            "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400", "1e-400", "0.1", "1e22",
            "9007199254740993", "123456789.123456789", "1.7976931348623157e308", "3.4028236e38", "5e-324", "-1E+2",
            "340282366920938463463374607431768211455", "12345678901234567890.5", "0e0", "1e-23", "100e-2",
        ]
        let text = [
            "\"\"", "\"a\"", "\"b\"", "\"-inf\"", "\"AQID\"", "\"AQI\"", "\"\\n\\u00e9\"", "\"🙂 é\"",
            "\"\\ud83d\\ude42\"", "\"2026-01-31T12:00:00Z\"", "\"https://example.com/?a=b\"",
            "\"a text that is longer than what fits into a small string, and has \\\"quotes\\\"\"", "\"\\/\\\\\"",
        ]
        let object = [
            #"{"a":1}"#, #"{"a":1,"b":"x","one_two":2.5,"bx":true,"int8":1,"uint":2,"float":0.1}"#,
            #"{"oneTwo":1,"a":1.0}"#, #"{"a":{"_0":1,"oneTwo":"x"}}"#, #"{"b":{}}"#, #"{"b":"x","super":{"a":1}}"#,
            #"{"super":null}"#, "{}", #"{"1":"x","2":"y"}"#, #"{"a":null,"b":null}"#, #"{"b":7}"#,
        ]
        let array = ["[]", "[1]", "[1,2.5,null]", "[[\"a\"],[]]", #"[{"a":1},{"a":2}]"#, "[1,2,255]", "[null]"]
        return switch index {
        case 0, 2, 4...15, 18, 20: choices.of(choices.next(8) == 1 ? text : number)
        case 16: choices.of(choices.next(3) == 1 ? text : number)
        case 17: choices.of(choices.next(3) == 1 ? array : text)
        case 1, 19, 21, 24: choices.of(choices.next(8) == 1 ? number : text)
        case 3: choices.of(["true", "false", "true", "false", "1", "\"true\""])
        case 22, 23, 25, 28, 29, 32: choices.of(choices.next(8) == 1 ? array : object)
        default: choices.of(choices.next(8) == 1 ? object : array)
        }
    }
}

/// Changes a few bytes.
private func spoil(_ text: inout [UInt8], _ choices: inout Choices) {
    let bytes = Array(#"{}[]",:\u0e-+.1tn "#.utf8) + [0, 0x0A, 0x80, 0xE9, 0xFF]
    for _ in 0...choices.next(3) {
        let index = text.isEmpty ? 0 : (choices.next(256) << 8 | choices.next(256)) % text.count
        switch choices.next(4) {
        case 1: text.insert(choices.of(bytes), at: index)
        case 2 where !text.isEmpty: text.remove(at: index)
        case 3: text.removeSubrange(index...)
        default: if !text.isEmpty { text[index] = choices.of(bytes) }
        }
    }
}

// MARK: Reading

/// Tells ``Shaped`` which shape to read.
///
/// `@unchecked Sendable`: a single call of one decoder uses it.
private final class Plan: @unchecked Sendable {
    static let key = CodingUserInfoKey(rawValue: "plan")
    var shape: Shape

    init(_ shape: Shape) {
        self.shape = shape
    }
}

/// Reads a value of the plan's shape, like types with a custom decoder.
private struct Shaped: Decodable {
    var seen: String

    init(from decoder: any Decoder) throws {
        guard let plan = Plan.key.flatMap({ decoder.userInfo[$0] as? Plan }) else {
            throw BrokenClaim(description: "userInfo is handed on")
        }
        let shape = plan.shape
        defer { plan.shape = shape }
        switch shape {
        case .leaf(let index):
            func read<Value: Decodable>(_ type: Value.Type) throws -> String {
                describe(try decoder.singleValueContainer().decode(type))
            }
            seen = try read(leaves[index])
        case .list(let element):
            plan.shape = element
            seen = try "\(decoder.singleValueContainer().decode([Shaped].self).map(\.seen))"
        case .dictionary(let element):
            plan.shape = element
            seen = try describe(decoder.singleValueContainer().decode([String: Shaped].self).mapValues(\.seen))
        case .object(let members):
            seen = "{"
            let container = try decoder.container(keyedBy: Name.self)
            seen += container.allKeys.map(\.stringValue).sorted().joined(separator: " ")
            for (name, way, shape) in members {
                plan.shape = shape
                seen += try ", " + Self.member(Name(name), way, shape, of: container)
            }
        case .row(let elements):
            seen = "["
            var container = try decoder.unkeyedContainer()
            for (way, shape) in elements {
                plan.shape = shape
                seen += try ", " + Self.element(way, shape, of: &container)
                seen += " \(container.currentIndex) \(container.isAtEnd) \(container.codingPath.count)"
            }
        }
    }

    private static func member(
        _ name: Name, _ way: Int, _ shape: Shape, of container: KeyedDecodingContainer<Name>
    ) throws -> String {
        func read<Value: Decodable>(_ type: Value.Type) throws -> String {
            way == 0
                ? describe(try container.decode(type, forKey: name))
                : describe(try container.decodeIfPresent(type, forKey: name) as Any)
        }
        switch way {
        case 0, 1:
            if case .leaf(let index) = shape { return try read(leaves[index]) }
            return try read(Shaped.self)
        case 2: return try "\(container.contains(name)) \(container.decodeNil(forKey: name))"
        case 3: return try Shaped(from: try container.superDecoder(forKey: name)).seen
        case 4:
            let nested = try container.nestedContainer(keyedBy: Name.self, forKey: name)
            return try "\(nested.decodeIfPresent(Int.self, forKey: Name("a")) as Any) \(nested.codingPath.count)"
        default:
            var nested = try container.nestedUnkeyedContainer(forKey: name)
            return try "\(nested.count ?? -1) \(nested.decodeIfPresent(Double.self) as Any)"
        }
    }

    private static func element(
        _ way: Int, _ shape: Shape, of container: inout any UnkeyedDecodingContainer
    ) throws -> String {
        func read<Value: Decodable>(_ type: Value.Type) throws -> String {
            way == 0
                ? describe(try container.decode(type)) : describe(try container.decodeIfPresent(type) as Any)
        }
        switch way {
        case 0, 1:
            if case .leaf(let index) = shape { return try read(leaves[index]) }
            return try read(Shaped.self)
        case 2: return try "\(container.decodeNil())"
        case 3: return try Shaped(from: try container.superDecoder()).seen
        case 4:
            let nested = try container.nestedContainer(keyedBy: Name.self)
            return try "\(nested.decode(String.self, forKey: Name("a"))) \(nested.codingPath.count)"
        default:
            var nested = try container.nestedUnkeyedContainer()
            return try "\(nested.decode(Int.self)) \(nested.isAtEnd)"
        }
    }
}

/// Returns a text that is the same for equal values.
private func describe(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    switch value {
    case let date as Date: return "\(date.timeIntervalSinceReferenceDate.bitPattern)"
    case let number as Double: return "\(number.bitPattern)"
    case let number as Float: return "\(number.bitPattern)"
    case let text as String: return "\(Array(text.utf8))"
    case let url as URL: return url.absoluteString
    case let decimal as Decimal: return "\(decimal)"
    case let data as Data: return "\(Array(data))"
    default: break
    }
    guard !mirror.children.isEmpty else { return "\(value)" }
    let parts = mirror.children.map { "\($0.label ?? ""):\(describe($0.value))" }
    let inherited = mirror.superclassMirror.map { $0.children.map { describe($0.value) } } ?? []
    return "(" + (mirror.displayStyle == .dictionary ? parts.sorted() : parts + inherited).joined(separator: ",") + ")"
}
