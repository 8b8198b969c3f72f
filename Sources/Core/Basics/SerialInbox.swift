/// A queue of elements that one thread at a time processes in order. Part of a state in a ``Lock``.
///
/// After adding an element, call ``begin()``. If it returns true, process elements without the lock until none are
/// left:
///
///     let isOurs = state.withLock { $0.inbox.add(element); return $0.inbox.begin() }
///     while isOurs, let next = state.withLock({ $0.inbox.next() }) { … }
///
/// Elements added meanwhile, including those added by the called code, are processed in turn.
package struct SerialInbox<Element> {
    private var waiting = Queue<Element>()
    private var isBeingEmptied = false

    package init() {}

    package var count: Int { waiting.count }

    package var first: Element? { waiting.first }

    package mutating func add(_ element: Element) {
        waiting.append(element)
    }

    /// - Returns: False if another thread is already emptying the inbox; it will find the new elements.
    package mutating func begin() -> Bool {
        defer { isBeingEmptied = true }
        return !isBeingEmptied
    }

    /// - Returns: The next element, or `nil` at the end. After that, the caller that adds an element must call
    ///   ``begin()``.
    package mutating func next() -> Element? {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popFirst()
    }

    /// - Returns: Up to the given number of elements; empty at the end.
    package mutating func next(atMost count: Int) -> [Element] {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popFirst(atMost: count)
    }

    /// - Returns: All elements; empty at the end.
    package mutating func all() -> [Element] {
        isBeingEmptied = !waiting.isEmpty
        return waiting.popAll()
    }

    /// Discards all elements; the thread that empties the inbox finds no more.
    ///
    /// - Returns: The discarded elements, to be released after the lock.
    package mutating func removeAll() -> [Element] { waiting.popAll() }
}

extension SerialInbox: Sendable where Element: Sendable {}
