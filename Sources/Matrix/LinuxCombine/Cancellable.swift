import Basics

/// An activity that can be cancelled.
public protocol Cancellable {
    /// Cancels the activity. Further calls do nothing.
    func cancel()
}

/// A subscription that ends when it is cancelled or released.
public final class AnyCancellable: Cancellable, Hashable, Sendable {
    /// The closure to call; `nil` once called.
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// - Parameter cancel: Called at most once, on the thread that cancels or releases the subscription.
    public init(_ cancel: @escaping @Sendable () -> Void) {
        onCancel = Lock(cancel)
    }

    /// Cancels `canceller`.
    public convenience init(_ canceller: some Cancellable & Sendable) {
        self.init { canceller.cancel() }
    }

    deinit {
        cancel()
    }

    /// Ends the subscription. You can call this from within its closures.
    public func cancel() {
        onCancel.exchange(nil)?()
    }

    /// Keeps the subscription until `set` is emptied or released.
    public func store(in set: inout Set<AnyCancellable>) {
        set.insert(self)
    }

    /// Keeps the subscription until `collection` is emptied or released.
    public func store(in collection: inout some RangeReplaceableCollection<AnyCancellable>) {
        collection.append(self)
    }

    /// Returns whether both are the same instance.
    public static func == (lhs: AnyCancellable, rhs: AnyCancellable) -> Bool { lhs === rhs }

    /// Hashes the instance's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
