/// One value or key of a ``JSONDocument``. An object or array takes two nodes in a row, followed by its contents.
struct JSONNode {
    /// For a string, number or literal, the position of its first byte. For an object or array, flags and the number of
    /// members or elements.
    var head: UInt32
    /// For a string, the position of its closing quote; for a number or literal, the position after it; either with a
    /// flag. For an object or array, the node after its contents.
    var tail: UInt32

    enum Kind {
        case object, array, string, number, `true`, `false`, null
    }

    static let maximumText = 1 << 29

    private static let container: UInt32 = 1 << 31
    private static let object: UInt32 = 1 << 30
    private static let irregular: UInt32 = 1 << 29
    private static let counter: UInt32 = irregular - 1
    private static let special: UInt32 = 1 << 31

    /// - Parameter isSpecial: Whether a string has escapes, or a number a fraction or an exponent.
    @inline(__always)
    init(start: Int, end: Int, isSpecial: Bool) {
        head = UInt32(truncatingIfNeeded: start)
        tail = UInt32(truncatingIfNeeded: end) | (isSpecial ? Self.special : 0)
    }

    @inline(__always)
    private init(head: UInt32, tail: UInt32) {
        (self.head, self.tail) = (head, tail)
    }

    /// Creates the first node of an object or array that is being read.
    @inline(__always)
    static func opening(isObject: Bool, in parent: UInt32) -> JSONNode {
        JSONNode(head: container | (isObject ? object : 0), tail: parent)
    }

    /// Creates the second node of an object that is being read: the hashes of its keys so far.
    @inline(__always)
    init(hashes: UInt64) {
        head = UInt32(truncatingIfNeeded: hashes)
        tail = UInt32(truncatingIfNeeded: hashes >> 32)
    }

    @inline(__always)
    var hashes: UInt64 { UInt64(tail) << 32 | UInt64(head) }

    /// Creates the second node of an object that was read.
    ///
    /// - Parameter next: The key that is probably requested next.
    @inline(__always)
    init(next: UInt32, convertsKeys: Bool = false) {
        self.init(head: next, tail: convertsKeys ? 1 : 0)
    }

    /// For an object's second node: whether its keys are converted with the decoder's strategy.
    var convertsKeys: Bool { tail != 0 }

    @inline(__always)
    var isContainer: Bool { head & Self.container != 0 }

    @inline(__always)
    var isObject: Bool { head & (Self.container | Self.object) == Self.container | Self.object }

    /// For an object: whether two keys may be equal, or one has escapes.
    @inline(__always)
    var isIrregular: Bool {
        get { head & Self.irregular != 0 }
        set { head = newValue ? head | Self.irregular : head & ~Self.irregular }
    }

    @inline(__always)
    var count: UInt32 {
        get { head & Self.counter }
        set { head = head & ~Self.counter | newValue }
    }

    @inline(__always)
    var isSpecial: Bool { tail & Self.special != 0 }

    @inline(__always)
    var start: Int { Int(head) }

    @inline(__always)
    var end: Int { Int(tail & ~Self.special) }
}
