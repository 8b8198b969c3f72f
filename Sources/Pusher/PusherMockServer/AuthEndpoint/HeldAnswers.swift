import NIOCore

/// Answers that wait for others, to be sent in reverse order. Confined to the server's event loop.
struct HeldAnswers {
    private let count: Int
    private var held: [(promise: EventLoopPromise<APIResponse>, response: APIResponse)] = []

    init(count: Int) {
        self.count = count
    }

    var isComplete: Bool { held.count >= count }

    mutating func hold(_ response: APIResponse, promise: EventLoopPromise<APIResponse>) {
        held.append((promise, response))
    }

    func giveAll() {
        for (promise, response) in held.reversed() { promise.succeed(response) }
    }
}
