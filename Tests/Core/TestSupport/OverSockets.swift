import Basics
import Foundation
package import Testing
import Transport

/// Tests that use sockets: a few run at a time. All at once would wait for each other for longer than the time-outs that
/// they are about.
package struct OverSockets: SuiteTrait, TestTrait, TestScoping {
    /// How many of the few turns a test takes; one that takes them all runs alone.
    let turns: Int

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await Turnstile.shared.enter(turns)
        let start = ContinuousClock.now
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        note(ContinuousClock.now - start, of: test)
        await Turnstile.shared.leave(turns)
        try result.get()
    }

    /// Appends to a file what Scripts/test prints: Swift Testing tells the time since the run began, waiting for a turn
    /// included.
    private func note(_ duration: Duration, of test: Test) {
        guard let path = ProcessInfo.processInfo.environment["TEST_TIMES"] else { return }
        let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        let place = test.sourceLocation
        let line = "\(place.fileID):\(place.line) \(duration / .seconds(1))\n"
        _ = line.utf8CString.withUnsafeBytes { write(file, $0.baseAddress, $0.count - 1) }
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
