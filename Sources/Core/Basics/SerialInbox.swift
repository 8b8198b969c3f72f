/// What waits to be handed on, by one thread at a time and in order. Part of a state in a ``Lock``.
///
/// Whoever adds something asks ``begin()`` whether to hand on, and does so without the lock until there is nothing left:
///
///     let isOurs = state.withLock { $0.inbox.add(element); return $0.inbox.begin() }
///     while isOurs, let next = state.withLock({ $0.inbox.next() }) { … }
///
/// What is added meanwhile, by the code that is called as well, comes in its turn.
package struct SerialInbox<Element> {
    private var waiting = Queue<Element>()
    private var isBeingEmptied = false

    package init() {}

    package var count: Int { waiting.count }

    /// The next element; nil if nothing waits.
    package var first: Element? { waiting.first }

    package mutating func add(_ element: Element) {
        waiting.append(element)
    }

    /// - Returns: False if somebody empties it already, who will find what was added.
    package mutating func begin() -> Bool {
        defer { isBeingEmptied = true }
        return !isBeingEmptied
    }

    /// - Returns: Nil is the end: whoever adds something from now on has to begin.
    package mutating func next() -> Element? {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popFirst()
    }

    /// - Returns: What comes next, at most so much; nothing is the end.
    package mutating func next(atMost count: Int) -> [Element] {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popFirst(atMost: count)
    }

    /// - Returns: Everything there is; nothing is the end.
    package mutating func all() -> [Element] {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popAll()
    }

    /// What waits is forgotten; whoever empties the inbox finds nothing more.
    ///
    /// - Returns: What waited, to be let go of after the lock.
    package mutating func removeAll() -> [Element] { waiting.popAll() }
}

extension SerialInbox: Sendable where Element: Sendable {}
