import Basics
import CommandKit
import PusherSwift

/// Runs commands from non-interactive standard input, one per line, each completed before the next is read.
struct ShellScript: Sendable {
    let session: ShellSession
    let output: ShellOutput
    /// The time limit for the connection and for each command.
    let timeout: Duration

    private let reader = ScriptReader()
    private let worst = Lock(ExitStatus.done)

    init(session: ShellSession, output: ShellOutput, timeout: Duration) {
        (self.session, self.output, self.timeout) = (session, output, timeout)
    }

    /// - Returns: The status of the worst command, which is the highest number.
    func run() async -> ExitStatus {
        guard await succeeds(at: nil, { try await session.connected() }) else { return worst.withLock { $0 } }
        var number = 0
        while let line = await reader.next() {
            number += 1
            switch line {
            case .text(let text): if await !perform(text, at: number) { return await end() }
            case .unusable(let reason): fail(CommandFailure(.badData, "line \(number) \(reason)"), at: nil)
            case .unreadable: fail(Input.unreadable, at: nil)
            }
        }
        return await end()
    }

    /// - Returns: Whether to continue the script.
    private func perform(_ text: String, at number: Int) async -> Bool {
        do {
            guard let instruction = try ShellInstruction(text) else { return true }
            if instruction == .quit { return false }
            if let work = try session.begin(instruction) { _ = await succeeds(at: number, work.run) }
        } catch {
            fail(error, at: number)
        }
        return true
    }

    private func end() async -> ExitStatus {
        // A connection lost in the meantime has already been reported.
        try? await withDeadline(timeout, failure: { failure("no answer") }) { [session] in try await session.catchUp() }
        return worst.withLock { $0 }
    }

    private func succeeds(at number: Int?, _ work: @escaping @Sendable () async throws -> Void) async -> Bool {
        do {
            try await withDeadline(timeout, failure: { failure(number == nil ? "no connection" : "no answer") }, work)
            return true
        } catch {
            fail(error, at: number)
            return false
        }
    }

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure(.unavailable, "\(what) within \(Seconds.text(timeout / .seconds(1))): \(session.trouble)")
    }

    private func fail(_ error: any Error, at number: Int?) {
        if Task.isCancelled { return }
        output.complain(error, line: number)
        let status = (error as? any ReportableError)?.exitStatus ?? .unavailable
        worst.withLock { $0 = $0.worse(status) }
    }
}
