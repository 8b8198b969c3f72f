extension Publisher {
    /// Publishes the result of `transform` for each value.
    public func map<Result>(_ transform: @escaping (Output) -> Result) -> some Publisher<Result, Failure> {
        Map(upstream: self, transform: transform)
    }

    /// Publishes the values that satisfy `isIncluded`.
    public func filter(_ isIncluded: @escaping (Output) -> Bool) -> some Publisher<Output, Failure> {
        Filter(upstream: self, isIncluded: isIncluded)
    }

    /// Publishes only values that differ from the previous one.
    public func removeDuplicates(
        by predicate: @escaping (Output, Output) -> Bool
    ) -> some Publisher<Output, Failure> {
        RemoveDuplicates(upstream: self, predicate: predicate)
    }
}

extension Publisher where Output: Equatable {
    /// Publishes only values that are not equal to the previous one.
    public func removeDuplicates() -> some Publisher<Output, Failure> {
        removeDuplicates(by: ==)
    }
}

private struct Map<Upstream: Publisher, Output>: Publisher {
    typealias Failure = Upstream.Failure

    let upstream: Upstream
    let transform: (Upstream.Output) -> Output

    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        upstream.sink(receiveCompletion: receiveCompletion) { [transform] in receiveValue(transform($0)) }
    }
}

private struct Filter<Upstream: Publisher>: Publisher {
    typealias Output = Upstream.Output
    typealias Failure = Upstream.Failure

    let upstream: Upstream
    let isIncluded: (Output) -> Bool

    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        upstream.sink(receiveCompletion: receiveCompletion) { [isIncluded] in
            if isIncluded($0) { receiveValue($0) }
        }
    }
}

private struct RemoveDuplicates<Upstream: Publisher>: Publisher {
    typealias Output = Upstream.Output
    typealias Failure = Upstream.Failure

    let upstream: Upstream
    let predicate: (Output, Output) -> Bool

    func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable {
        var last: Output?  // one per sink, which receives one value at a time
        return upstream.sink(receiveCompletion: receiveCompletion) { [predicate] value in
            if let last, predicate(last, value) { return }
            last = value
            receiveValue(value)
        }
    }
}
