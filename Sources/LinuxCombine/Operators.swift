/// The publishers that operators make.
public enum Publishers {
    /// See ``Publisher/map(_:)``.
    public struct Map<Upstream: Publisher, Output>: Publisher {
        /// That of the upstream.
        public typealias Failure = Upstream.Failure

        let upstream: Upstream
        let transform: (Upstream.Output) -> Output

        /// A sink of the transformed values.
        public func sink(
            receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
            receiveValue: @escaping (Output) -> Void
        ) -> AnyCancellable {
            upstream.sink(receiveCompletion: receiveCompletion) { [transform] in receiveValue(transform($0)) }
        }
    }

    /// See ``Publisher/filter(_:)``.
    public struct Filter<Upstream: Publisher>: Publisher {
        /// Those of the upstream.
        public typealias Output = Upstream.Output
        /// That of the upstream.
        public typealias Failure = Upstream.Failure

        let upstream: Upstream
        let isIncluded: (Output) -> Bool

        /// A sink of the values that are included.
        public func sink(
            receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
            receiveValue: @escaping (Output) -> Void
        ) -> AnyCancellable {
            upstream.sink(receiveCompletion: receiveCompletion) { [isIncluded] in
                if isIncluded($0) { receiveValue($0) }
            }
        }
    }

    /// See ``Publisher/removeDuplicates(by:)``.
    public struct RemoveDuplicates<Upstream: Publisher>: Publisher {
        /// Those of the upstream.
        public typealias Output = Upstream.Output
        /// That of the upstream.
        public typealias Failure = Upstream.Failure

        let upstream: Upstream
        let predicate: (Output, Output) -> Bool

        /// A sink of the values that differ from the one before.
        public func sink(
            receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
            receiveValue: @escaping (Output) -> Void
        ) -> AnyCancellable {
            var last: Output?  // each sink has its own, and is told one value at a time
            return upstream.sink(receiveCompletion: receiveCompletion) { [predicate] value in
                if let last, predicate(last, value) { return }
                last = value
                receiveValue(value)
            }
        }
    }
}

extension Publisher {
    /// Publishes what `transform` makes of each value.
    public func map<Result>(_ transform: @escaping (Output) -> Result) -> Publishers.Map<Self, Result> {
        Publishers.Map(upstream: self, transform: transform)
    }

    /// Publishes the values for which `isIncluded` holds.
    public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Filter<Self> {
        Publishers.Filter(upstream: self, isIncluded: isIncluded)
    }

    /// Publishes the values that are not the same as the one before.
    public func removeDuplicates(
        by predicate: @escaping (Output, Output) -> Bool
    ) -> Publishers.RemoveDuplicates<Self> {
        Publishers.RemoveDuplicates(upstream: self, predicate: predicate)
    }
}

extension Publisher where Output: Equatable {
    /// Publishes the values that do not equal the one before.
    public func removeDuplicates() -> Publishers.RemoveDuplicates<Self> {
        removeDuplicates(by: ==)
    }
}
