import Basics
import Foundation
package import Testing
import Transport

/// Tests that use sockets. Only a few run at a time: all at once would delay each other beyond the time-outs that they
/// test.
package struct OverSockets: SuiteTrait, TestTrait, TestScoping {
    /// The number of turns a test takes; a test that takes all of them runs alone.
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

    /// Appends to a file that Scripts/test prints. Swift Testing reports the time since the run began, including the
    /// wait for a turn.
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

    /// Runs while no other such test does: for tests that change state of the whole process.
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
