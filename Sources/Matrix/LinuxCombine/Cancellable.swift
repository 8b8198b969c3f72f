import Basics

/// Something under way that can be ended early.
public protocol Cancellable {
    /// Ends it. A second call does nothing.
    func cancel()
}

/// A subscription, which ends when it is cancelled or nothing refers to it any more.
public final class AnyCancellable: Cancellable, Hashable, Sendable {
    /// Nil once it was called.
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// - Parameter cancel: Called once at most, on the thread that cancels or lets go.
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

    /// Ends the subscription. May be called from within its closures.
    public func cancel() {
        onCancel.exchange(nil)?()
    }

    /// Keeps it until `set` goes, or is emptied.
    public func store(in set: inout Set<AnyCancellable>) {
        set.insert(self)
    }

    /// Keeps it until `collection` goes, or is emptied.
    public func store(in collection: inout some RangeReplaceableCollection<AnyCancellable>) {
        collection.append(self)
    }

    /// Whether both are one and the same.
    public static func == (lhs: AnyCancellable, rhs: AnyCancellable) -> Bool { lhs === rhs }

    /// Of its identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
