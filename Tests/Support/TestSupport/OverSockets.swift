package import Testing
import Basics
import Transport

/// Tests that use sockets: a few run at a time. All at once would wait for each other for longer than the time-outs that
/// they are about.
package struct OverSockets: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Turnstile.shared.enter()
        do {
            try await function()
            await Turnstile.shared.leave()
        } catch {
            await Turnstile.shared.leave()
            throw error
        }
    }
}

extension Trait where Self == OverSockets {
    package static var overSockets: Self { OverSockets() }
}

private actor Turnstile {
    static let shared = Turnstile()

    private var free = 6
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
