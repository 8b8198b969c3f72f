import Basics

/// The receivers of C callbacks. libnats stores a number, not a reference, so a late callback finds no object, even if
/// its memory was freed. Global, because a C function has no other context.
enum NATSCallbacks {
    private struct Entry: Sendable {
        weak var object: (any AnyObject & Sendable)?
    }

    private struct State: Sendable {
        var last: UInt = 0
        var entries: [UInt: Entry] = [:]
    }

    private static let state = Lock(State())

    /// - Returns: The closure to pass to libnats, valid until ``remove(_:)``.
    static func add(_ object: any AnyObject & Sendable) -> UInt {
        state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(object: object)
            return state.last
        }
    }

    static func remove(_ id: UInt) {
        let old = state.withLock { $0.entries.removeValue(forKey: id) }
        _ = old  // released after the lock
    }

    static func object<Object>(of closure: UnsafeMutableRawPointer?, as type: Object.Type = Object.self) -> Object? {
        let object = state.withLock { $0.entries[UInt(bitPattern: closure)]?.object }
        return object as? Object
    }
}
