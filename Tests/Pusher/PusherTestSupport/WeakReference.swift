import Basics

/// A weak reference that shows whether an object is still alive.
package final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    private struct Storage {
        weak var object: Object?
    }

    private let storage = Lock(Storage())

    package init() {}

    package var object: Object? {
        get { storage.withLock { $0.object } }
        set { storage.withLock { $0.object = newValue } }
    }
}

/// Reports when it is released.
package final class Token: Sendable {
    private let onRelease: @Sendable () -> Void

    package init(_ onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }
}
