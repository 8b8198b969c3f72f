import Basics

/// Whom C callbacks are for. libnats keeps a number, not a reference: a callback that comes late finds nobody, whatever was
/// freed meanwhile. Global, since a C function has nothing else.
enum NATSCallbacks {
    private struct Entry: Sendable {
        weak var object: (any AnyObject & Sendable)?
    }

    private struct State: Sendable {
        var last: UInt = 0
        var entries: [UInt: Entry] = [:]
    }

    private static let state = Lock(State())

    /// - Returns: The closure to give to the library, until ``remove(_:)``.
    static func add(_ object: any AnyObject & Sendable) -> UInt {
        state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(object: object)
            return state.last
        }
    }

    static func remove(_ id: UInt) {
        let old = state.withLock { $0.entries.removeValue(forKey: id) }
        _ = old  // let go of after the lock
    }

    static func object<Object>(of closure: UnsafeMutableRawPointer?, as type: Object.Type = Object.self) -> Object? {
        let object = state.withLock { $0.entries[UInt(bitPattern: closure)]?.object }
        return object as? Object
    }
}
