package import Testing
import Basics
import Transport

/// Tests that use sockets: a few run at a time. All at once would wait for each other for longer than the time-outs that
/// they are about.
package struct OverSockets: SuiteTrait, TestTrait, TestScoping {
    /// Of a few; whoever takes them all runs alone.
    let turns: Int

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Turnstile.shared.enter(turns)
        do {
            try await function()
            await Turnstile.shared.leave(turns)
        } catch {
            await Turnstile.shared.leave(turns)
            throw error
        }
    }
}

extension Trait where Self == OverSockets {
    package static var overSockets: Self { OverSockets(turns: 1) }

    /// While no other such test runs: for those that change what the whole process shares.
    package static var overSocketsAlone: Self { OverSockets(turns: Turnstile.turns) }
}

private actor Turnstile {
    static let shared = Turnstile()
    static let turns = 6

    private var free = Turnstile.turns
    private var waiting: [(turns: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func enter(_ turns: Int) async {
        guard !waiting.isEmpty || free < turns else {
            free -= turns
            return
        }
        await withCheckedContinuation { waiting.append((turns, $0)) }
    }

    func leave(_ turns: Int) {
        free += turns
        while let next = waiting.first, next.turns <= free {
            free -= next.turns
            waiting.removeFirst().continuation.resume()
        }
    }
}
