import NIOCore

/// Tasks that wait for the server to reach a state. Confined to the server's event loop.
struct StateWaiters {
    typealias Condition = @Sendable (PusherMockServer.State) -> Bool

    private var waiters: [Int: (condition: Condition, promise: EventLoopPromise<Bool>)] = [:]
    private var count = 0
    private var isCheckPlanned = false

    /// Adds a waiter. Pass the returned id to ``giveUp(_:)`` to end the wait.
    mutating func add(_ promise: EventLoopPromise<Bool>, until condition: @escaping Condition) -> Int {
        count += 1
        waiters[count] = (condition, promise)
        return count
    }

    /// Returns whether to schedule a check: there are waiters, and no check is scheduled yet.
    mutating func needCheck() -> Bool {
        guard !waiters.isEmpty, !isCheckPlanned else { return false }
        isCheckPlanned = true
        return true
    }

    mutating func check(_ state: PusherMockServer.State) {
        isCheckPlanned = false
        for (id, waiter) in waiters where waiter.condition(state) {
            waiters[id] = nil
            waiter.promise.succeed(true)
        }
    }

    mutating func giveUp(_ id: Int) {
        waiters.removeValue(forKey: id)?.promise.succeed(false)
    }

    mutating func giveUp() {
        for waiter in waiters.values { waiter.promise.succeed(false) }
        waiters.removeAll()
    }
}
