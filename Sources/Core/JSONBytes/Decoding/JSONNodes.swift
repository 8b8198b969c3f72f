import CVector
import Glibc

/// Reads a whole JSON text (RFC 8259) into nodes in one pass. Validates everything except its UTF-8.
struct JSONNodes {
    /// The maximum nesting of objects and arrays.
    static let maximumDepth = 512

    /// The number of zeros after the text, which end any value that is being read.
    static let padding = 32

    /// The maximum number of nodes for `length` bytes: one for each byte, and one more for each open bracket.
    static func capacity(for length: Int) -> Int { length + min(length, maximumDepth) }

    /// In objects with more members, equal hashes of two keys are not checked further.
    static let searchedMembers: UInt32 = 32

    private let text: UnsafePointer<UInt8>
    private let length: Int
    private let nodes: UnsafeMutablePointer<JSONNode>
    private var index = 0
    private var count: UInt32 = 0

    /// - Parameters:
    ///   - text: The text, followed by ``padding`` zeros.
    ///   - nodes: A buffer for ``capacity(for:)`` nodes.
    init(_ text: UnsafePointer<UInt8>, length: Int, into nodes: UnsafeMutablePointer<JSONNode>) {
        self.text = text
        self.length = length
        self.nodes = nodes
    }

    private static let noParent = UInt32.max

    /// Returns false if the text is not JSON or is nested too deeply.
    mutating func read() -> Bool {
        var parent = Self.noParent
        var depth = 0
        while true {
            switch nextByte() {
            case UInt8(ascii: "\""):
                guard string() else { return false }
            case UInt8(ascii: "{"):
                depth += 1
                guard depth <= Self.maximumDepth else { return false }
                parent = open(isObject: true, in: parent)
                if nextByte() != UInt8(ascii: "}") {
                    guard key(of: parent) else { return false }
                    continue
                }
                index += 1
                parent = close(parent)
                depth -= 1
            case UInt8(ascii: "["):
                depth += 1
                guard depth <= Self.maximumDepth else { return false }
                parent = open(isObject: false, in: parent)
                if nextByte() != UInt8(ascii: "]") { continue }
                index += 1
                parent = close(parent)
                depth -= 1
            case UInt8(ascii: "-"), 0x30...0x39:
                guard number() else { return false }
            case UInt8(ascii: "t"):
                guard literal("true") else { return false }
            case UInt8(ascii: "f"):
                guard literal("false") else { return false }
            case UInt8(ascii: "n"):
                guard literal("null") else { return false }
            default:
                return false
            }
            // After a value: the next one, or the end of one or more objects and arrays.
            while true {
                guard parent != Self.noParent else {
                    _ = nextByte()
                    return index == length
                }
                nodes[Int(parent)].count += 1
                let isObject = nodes[Int(parent)].isObject
                let byte = nextByte()
                index += 1
                if byte == UInt8(ascii: ",") {
                    if isObject {
                        guard nextByte() == UInt8(ascii: "\""), key(of: parent) else { return false }
                    }
                    break
                }
                guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
                parent = close(parent)
                depth -= 1
            }
        }
    }

    /// Skips white space and returns the next byte without consuming it.
    @inline(__always)
    private mutating func nextByte() -> UInt8 {
        while true {
            let byte = text[index]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            index += 1
        }
    }

    @inline(__always)
    private mutating func append(_ node: JSONNode) {
        nodes[Int(count)] = node
        count += 1
    }

    private mutating func open(isObject: Bool, in parent: UInt32) -> UInt32 {
        index += 1
        append(.opening(isObject: isObject, in: parent))
        append(JSONNode(hashes: 0))
        return count - 2
    }

    /// - Returns: The enclosing container.
    private mutating func close(_ container: UInt32) -> UInt32 {
        let parent = nodes[Int(container)].tail
        nodes[Int(container)].tail = count
        nodes[Int(container) + 1] = JSONNode(next: container + 2)
        return parent
    }

    @inline(__always)
    private mutating func string() -> Bool {
        let start = index
        var at = index + 1
        var hasEscapes = false
        while true {
            at += Int(plain_prefix(text + at))
            switch text[at] {
            case UInt8(ascii: "\""):
                append(JSONNode(start: start, end: at, isSpecial: hasEscapes))
                index = at + 1
                return true
            case UInt8(ascii: "\\"):
                hasEscapes = true
                let all = UnsafeBufferPointer(start: text, count: length)
                guard let width = JSONString.escapeWidth(all, at: at) else { return false }
                at += width
            default:
                return false
            }
        }
    }

    /// Reads a key and its colon, and records whether the object may already have the same key.
    @inline(__always)
    private mutating func key(of object: UInt32) -> Bool {
        let node = count
        guard text[index] == UInt8(ascii: "\""), string(), nextByte() == UInt8(ascii: ":") else { return false }
        index += 1
        if nodes[Int(node)].isSpecial {
            nodes[Int(object)].isIrregular = true
            return true
        }
        let start = nodes[Int(node)].start + 1
        let hash = Self.hash(text + start, nodes[Int(node)].end - start)
        let hashes = nodes[Int(object) + 1].hashes
        if hashes & hash != 0, !nodes[Int(object)].isIrregular, isRepeated(node, in: object) {
            nodes[Int(object)].isIrregular = true
        }
        nodes[Int(object) + 1] = JSONNode(hashes: hashes | hash)
        return true
    }

    /// One bit out of 64.
    @inline(__always)
    private static func hash(_ key: UnsafePointer<UInt8>, _ length: Int) -> UInt64 {
        let raw = UnsafeRawPointer(key)
        var word = raw.loadUnaligned(as: UInt64.self)
        if length < 8 {
            word &= (1 &<< UInt64(length * 8)) &- 1
        } else {
            word = word &* 31 &+ (raw + (length - 8)).loadUnaligned(as: UInt64.self)
        }
        return 1 &<< ((word &+ UInt64(length)) &* 0x9E37_79B9_7F4A_7C15 &>> 58)
    }

    @inline(never)
    private func isRepeated(_ key: UInt32, in object: UInt32) -> Bool {
        guard nodes[Int(object)].count <= Self.searchedMembers else { return true }
        let own = nodes[Int(key)]
        let name = UnsafeBufferPointer(start: text + own.start + 1, count: own.end - own.start - 1)
        var other = Int(object) + 2
        while other < Int(key) {
            if nodes[other].isKey(name, in: text) { return true }
            other = Self.node(after: other + 1, in: nodes)
        }
        return false
    }

    @inline(__always)
    static func node(after value: Int, in nodes: UnsafeMutablePointer<JSONNode>) -> Int {
        nodes[value].isContainer ? Int(nodes[value].tail) : value + 1
    }

    private mutating func literal(_ name: StaticString) -> Bool {
        guard memcmp(text + index, name.utf8Start, name.utf8CodeUnitCount) == 0 else { return false }
        append(JSONNode(start: index, end: index + name.utf8CodeUnitCount, isSpecial: false))
        index += name.utf8CodeUnitCount
        return true
    }

    @inline(__always)
    private mutating func number() -> Bool {
        let all = UnsafeBufferPointer(start: text, count: length)
        guard let (end, isWhole) = NumberText.scan(all, from: index) else { return false }
        append(JSONNode(start: index, end: end, isSpecial: !isWhole))
        index = end
        return true
    }
}

extension JSONNode {
    /// Whether the string at this node, which has no escapes, equals `name`.
    @inline(__always)
    func isKey(_ name: UnsafeBufferPointer<UInt8>, in text: UnsafePointer<UInt8>) -> Bool {
        let length = Int(tail) &- Int(head) &- 1
        guard length == name.count else { return false }
        return length == 0 || memcmp(text + Int(head) + 1, name.baseAddress.unsafelyUnwrapped, length) == 0
    }
}
