/// A first-in, first-out queue. A removed element leaves no copy behind that would keep memory or be released later,
/// while a lock is held.
@usableFromInline
package struct Queue<Element> {
    @usableFromInline var elements: [Element?] = []
    /// The index of the first element; places before it are empty.
    @usableFromInline var head = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { elements.count - head }

    @inlinable
    package var isEmpty: Bool { head == elements.count }

    @inlinable
    package var first: Element? { isEmpty ? nil : elements[head] }

    @inlinable
    package mutating func append(_ element: Element) {
        elements.append(element)
    }

    @inlinable
    package mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let first = elements[head].take()
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 256, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Removes and returns up to the given number of elements, in order.
    @inlinable
    package mutating func popFirst(atMost limit: Int) -> [Element] {
        var taken: [Element] = []
        while taken.count < limit, let element = popFirst() { taken.append(element) }
        return taken
    }

    @inlinable
    package mutating func popAll() -> [Element] {
        defer { self = Self() }
        return elements[head...].compactMap { $0 }
    }
}

extension Queue: Sendable where Element: Sendable {}
