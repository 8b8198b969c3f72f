import CVector
import Glibc

/// A JSON text, its index of nodes, and the decoder's options.
///
/// One allocation holds text and nodes. Decoders and containers keep the document alive, so a type may safely keep the
/// decoder that created it.
final class JSONDocument {
    let text: UnsafePointer<UInt8>
    let nodes: UnsafeMutablePointer<JSONNode>
    let options: JSONBytesDecoder
    private let memory: UnsafeMutableRawPointer
    /// The values by key, of objects with many members, with equal or escaped keys, or with converted ones.
    private var indexes: [UInt32: [KeyText: UInt32]] = [:]
    /// The values requested with `superDecoder` that the text lacks; read as null.
    private var missing: [(object: UInt32, key: any CodingKey)] = []
    /// The steps that led to the last coding path.
    private var trail: [Step] = []

    private struct Step {
        var container: UInt32
        /// A value inside the container, or its key.
        var child: UInt32
        var position: Int
    }

    /// Returns nil if the written text is not exactly one JSON value.
    ///
    /// - Parameters:
    ///   - capacity: The buffer's size in bytes.
    ///   - write: Writes the text and returns its length.
    init?(
        capacity: Int, options: JSONBytesDecoder, write: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) {
        let nodeBytes = JSONNodes.capacity(for: capacity) * MemoryLayout<JSONNode>.stride
        guard capacity <= JSONNode.maximumText, let memory = malloc(nodeBytes + capacity + JSONNodes.padding) else {
            return nil
        }
        let text = (memory + nodeBytes).assumingMemoryBound(to: UInt8.self)
        self.memory = memory
        self.options = options
        self.text = UnsafePointer(text)
        nodes = memory.assumingMemoryBound(to: JSONNode.self)
        let length = min(capacity, write(UnsafeMutableBufferPointer(start: text, count: capacity)))
        memset(text + length, 0, JSONNodes.padding)
        var reader = JSONNodes(text, length: length, into: nodes)
        guard Self.isUTF8(text, length), reader.read() else { return nil }
    }

    deinit { free(memory) }

    private static func isUTF8(_ text: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        let plain = Int(ascii_prefix(text, UInt64(length)))
        if plain == length { return true }
        let rest = UnsafeBufferPointer(start: text + plain, count: length - plain)
        return (try? UTF8Span(validating: rest.span)) != nil
    }

    // MARK: Values

    static let root: UInt32 = 0
    private static let isMissing: UInt32 = 1 << 31

    @inline(__always)
    subscript(_ node: UInt32) -> JSONNode { nodes[Int(node)] }

    @inline(__always)
    func kind(_ node: UInt32) -> JSONNode.Kind {
        guard node & Self.isMissing == 0 else { return .null }
        let value = self[node]
        if value.isContainer { return value.isObject ? .object : .array }
        return switch text[value.start] {
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"): .true
        case UInt8(ascii: "f"): .false
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    @inline(__always)
    func isNull(_ node: UInt32) -> Bool { kind(node) == .null }

    @inline(__always)
    func node(after value: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: JSONNodes.node(after: Int(value), in: nodes))
    }

    @inline(__always)
    func bytes(_ node: UInt32) -> UnsafeBufferPointer<UInt8> {
        let value = self[node]
        return UnsafeBufferPointer(start: text + value.start, count: value.end - value.start)
    }

    @inline(__always)
    func text(of node: UInt32) -> String {
        let value = self[node]
        let inside = UnsafeBufferPointer(start: text + value.start + 1, count: value.end - value.start - 1)
        return value.isSpecial ? JSONString.unescape(inside) : String(decoding: inside, as: UTF8.self)
    }

    /// Returns a node for a value that the text lacks.
    func missing(_ key: any CodingKey, in object: UInt32) -> UInt32 {
        missing.append((object, key))
        return Self.isMissing | UInt32(missing.count - 1)
    }

    // MARK: Members

    /// The value of a key. Of equal keys the last counts.
    @inline(__always)
    func value(of key: some CodingKey, in object: UInt32) -> UInt32? {
        var name = key.stringValue
        if self[object].isIrregular || self[object + 1].convertsKeys { return index(of: object)[KeyText(name)] }
        return name.withUTF8 { find($0, in: object) }
    }

    /// Looks at the key after the last one found first, because most programs read keys in the order in which servers
    /// write them.
    private func find(_ name: UnsafeBufferPointer<UInt8>, in object: UInt32) -> UInt32? {
        let all = self[object]
        var key = self[object + 1].head
        if key < all.tail, self[key].isKey(name, in: text) { return found(key, in: object) }
        guard all.count <= JSONNodes.searchedMembers else {
            return index(of: object)[KeyText(String(decoding: name, as: UTF8.self))]
        }
        for _ in 0..<all.count {
            if key >= all.tail { key = object + 2 }
            if self[key].isKey(name, in: text) { return found(key, in: object) }
            key = node(after: key + 1)
        }
        return nil
    }

    @inline(__always)
    private func found(_ key: UInt32, in object: UInt32) -> UInt32 {
        nodes[Int(object) + 1] = JSONNode(next: node(after: key + 1))
        return key + 1
    }

    private func index(of object: UInt32) -> [KeyText: UInt32] {
        if let index = indexes[object] { return index }
        var index: [KeyText: UInt32] = [:]
        index.reserveCapacity(Int(self[object].count))
        forEachKey(of: object) { key, name in index[KeyText(name)] = key + 1 }
        indexes[object] = index
        return index
    }

    /// Converts the keys of `object` with the decoder's strategy from now on.
    func convertKeys(of object: UInt32) {
        nodes[Int(object) + 1] = JSONNode(next: object + 2, convertsKeys: true)
        indexes[object] = nil
    }

    /// Uses the keys of `object` as they are in the text from now on.
    func keepKeys(of object: UInt32) {
        nodes[Int(object) + 1] = JSONNode(next: object + 2)
        indexes[object] = nil
    }

    /// Returns the keys in the order of the text, each once.
    func keys(of object: UInt32) -> [String] {
        var keys: [String] = []
        keys.reserveCapacity(Int(self[object].count))
        guard self[object].isIrregular || self[object + 1].convertsKeys else {
            forEachKey(of: object) { keys.append($1) }
            return keys
        }
        let index = index(of: object)
        forEachKey(of: object) { key, name in
            if index[KeyText(name)] == key + 1 { keys.append(name) }
        }
        return keys
    }

    private func forEachKey(of object: UInt32, _ body: (UInt32, String) -> Void) {
        let path = self[object + 1].convertsKeys ? path(to: object) : []
        var key = object + 2
        while key < self[object].tail {
            body(key, name(of: key, in: object, path))
            key = node(after: key + 1)
        }
    }

    private func name(of key: UInt32, in object: UInt32, _ path: [any CodingKey]) -> String {
        let name = text(of: key)
        guard self[object + 1].convertsKeys else { return name }
        return options.keyDecodingStrategy.converted(name, after: path)
    }

    // MARK: Coding paths

    /// Returns the keys and positions from the root to a value.
    ///
    /// The search goes down from the root and resumes where the last one ended. Reading values in order thus costs one
    /// walk over the text, not one each.
    func path(to target: UInt32) -> [any CodingKey] {
        if target & Self.isMissing != 0 {
            let (object, key) = missing[Int(target & ~Self.isMissing)]
            return path(to: object) + [key]
        }
        var path: [any CodingKey] = []
        var container = Self.root
        while container != target {
            let step = step(in: container, to: target, depth: path.count)
            guard self[container].isObject else {
                path.append(PathKey(position: step.position))
                container = step.child
                continue
            }
            path.append(PathKey(name(of: step.child, in: container, path)))
            container = step.child + 1
        }
        return path
    }

    private func step(in container: UInt32, to target: UInt32, depth: Int) -> Step {
        var step = Step(container: container, child: container + 2, position: 0)
        if depth < trail.count, trail[depth].container == container, trail[depth].child <= target {
            step = trail[depth]
        }
        let keyWidth: UInt32 = self[container].isObject ? 1 : 0
        while true {
            let next = node(after: step.child + keyWidth)
            guard next <= target else { break }
            step.child = next
            step.position += 1
        }
        if depth < trail.count, trail[depth].container == container, trail[depth].child == step.child { return step }
        trail.removeSubrange(min(depth, trail.count)...)
        trail.append(step)
        return step
    }
}

/// A key, compared by its bytes.
private struct KeyText: Hashable {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (lhs: KeyText, rhs: KeyText) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// A key or position in a coding path.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ text: String) {
        (stringValue, intValue) = (text, nil)
    }

    init(position: Int) {
        (stringValue, intValue) = ("Index \(position)", position)
    }

    init?(stringValue: String) {
        self.init(stringValue)
    }

    init?(intValue: Int) {
        self.init(position: intValue)
    }

    static let `super` = PathKey("super")
}
