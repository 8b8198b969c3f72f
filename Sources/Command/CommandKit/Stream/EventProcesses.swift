import Basics
import CLinux
import Dispatch
package import Foundation

/// Runs a command for each event, limited to a few at a time.
///
/// Each command has its own session and therefore no terminal. Ctrl-C ends the stream, and commands that have started
/// are finished.
package final class EventProcesses: Sendable {
    private struct State {
        var isOver = false
        /// The signal sent to the running processes; `nil` if there was none.
        var end: Int32?
        var running = 0
        /// The processes whose ids are still valid.
        var ids: Set<pid_t> = []
        var hasFailed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    /// The time that commands may take at the end before the user is notified.
    private static let patience = Duration.milliseconds(500)
    /// The time, in seconds, between the request to end and the kill.
    private static let grace = 2.0

    private let command: String
    private let free: DispatchSemaphore
    private let state = Lock(State())

    /// - Parameters:
    ///   - command: The command for `/bin/sh -c`.
    ///   - jobs: The maximum number of concurrent commands. With one, they run strictly one after the other.
    package init(_ command: String, jobs: Int) {
        self.command = command
        free = DispatchSemaphore(value: jobs)
    }

    /// Starts the command for an event. Blocks while the maximum number of commands is running, so that the caller
    /// stops reading.
    ///
    /// The event's data is the command's standard input. A failure is reported on standard error.
    ///
    /// - Parameter answer: Receives the outcome before ``finish()`` returns.
    package func run(for event: EventFields, at time: Date, answer: EventAnswer? = nil) {
        free.wait()
        let mayStart = state.withLock { state in
            if !state.isOver { state.running += 1 }
            return !state.isOver
        }
        guard mayStart else {
            free.signal()
            _ = answer?(.notBegun)
            return
        }
        do throws(CommandFailure) {
            let id = try start(for: event, at: time)
            state.withLock { state in
                state.ids.insert(id)
                if let end = state.end { kill(-id, end) }
            }
            Thread.detachNewThread { [self] in
                let failure = failure(of: id)
                let consequence = answer?(failure == nil ? .handled : .failed)
                if let failure {
                    let rest: TerminalText = state.withLock { $0.isOver } ? "" : "; the stream goes on"
                    StandardError.write(
                        "warning: the command for \(event.words) \(failure)\(consequence.map { "; \($0)" as TerminalText } ?? rest)"
                    )
                }
                ended(hasFailed: failure != nil)
            }
        } catch {
            let consequence = answer?(.failed)
            StandardError.write(
                "error: the command for \(event.words) did not run: \(error)\(consequence.map { "; \($0)" as TerminalText } ?? "")"
            )
            ended(hasFailed: true)
        }
    }

    private func ended(hasFailed: Bool) {
        free.signal()
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.running -= 1
            state.hasFailed = state.hasFailed || hasFailed
            guard state.running == 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Starts no more commands. A waiting event is dropped and its queue released.
    package func stop() {
        state.withLock { $0.isOver = true }
        free.signal()
    }

    /// Ends the running commands with all their child processes: asks first, and kills those that remain after a moment
    /// or on a second call.
    package func end() {
        let isFirst = state.withLock { $0.end == nil }
        end(by: isFirst ? SIGTERM : SIGKILL)
        if isFirst {
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.grace) { [self] in end(by: SIGKILL) }
        }
    }

    private func end(by signal: Int32) {
        state.withLock { state in
            state.end = signal
            for id in state.ids { kill(-id, signal) }
        }
    }

    /// Waits for the running commands to end, after ``stop()``.
    ///
    /// - Returns: The exit status for a command that ran these.
    package func finish() async -> ExitStatus {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [state] in
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
                let count = state.withLock { $0.running }
                if count > 0 { StandardError.write("waiting for \(count == 1 ? "1 command" : "\(count) commands")") }
            }
            await allEnded()
            group.cancelAll()
        }
        return state.withLock { $0.end != nil ? .interrupted : $0.hasFailed ? .unavailable : .done }
    }

    private func allEnded() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.running > 0 { state.waiter = continuation }
                return state.running == 0
            }
            if isOver { continuation.resume() }
        }
    }

    // MARK: One process

    private func start(for event: EventFields, at time: Date) throws(CommandFailure) -> pid_t {
        let input = try Self.file(of: event.data ?? "")
        defer { close(input) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Child processes would inherit ignored and blocked signals.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID))
        var words = ["/bin/sh", "-c", command].map { $0.withCString { strdup($0) } } + [nil]
        var variables = Self.environment(of: event, at: time).map { strdup($0) } + [nil]
        defer { for pointer in words + variables { Glibc.free(pointer) } }
        var id = pid_t()
        let error = posix_spawn(&id, "/bin/sh", &actions, &attributes, &words, &variables)
        guard error == 0 else { throw CommandFailure(.unavailable, String(cString: strerror(error))) }
        return id
    }

    /// Creates a file in memory instead of a pipe: it needs no reader and never blocks.
    private static func file(of data: String) throws(CommandFailure) -> Int32 {
        let file = memfd_create("event", UInt32(MFD_CLOEXEC))
        guard file >= 0 else { throw CommandFailure(.unavailable, String(cString: strerror(errno))) }
        var data = data
        let isWritten = data.withUTF8 { bytes in
            var written = 0
            while written < bytes.count {
                let count = write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
                guard count >= 0 || errno == EINTR else { return false }
                written += max(count, 0)
            }
            return lseek(file, 0, SEEK_SET) == 0
        }
        guard isWritten else {
            defer { close(file) }
            throw CommandFailure(.unavailable, String(cString: strerror(errno)))
        }
        return file
    }

    private static func environment(of event: EventFields, at time: Date) -> [String] {
        let values = [
            "PUSHER_EVENT": event.name, "PUSHER_CHANNEL": event.channel, "PUSHER_USER_ID": event.userID,
            "PUSHER_TIME": JSONLine.text(of: time),
        ]
        let inherited = ProcessInfo.processInfo.environment.filter { !values.keys.contains($0.key) }
        // A zero byte ends a variable.
        let own = values.compactMapValues { $0?.replacing("\0", with: "\u{FFFD}") }
        return inherited.merging(own) { $1 }.map { "\($0)=\($1)" }
    }

    /// Waits for the end of a process. Returns `nil` on success.
    private func failure(of id: pid_t) -> TerminalText? {
        // A process id is reused once the process has been waited for. Until then it can be signalled.
        var news = siginfo_t()
        while waitid(P_PID, id_t(id), &news, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        state.withLock { _ = $0.ids.remove(id) }
        var status = Int32()
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return "could not be waited for" }
        }
        let signal = status & 0x7F
        if signal != 0 { return "was ended by signal \(signal)" }
        let code = (status >> 8) & 0xFF
        return code == 0 ? nil : "failed with status \(code)"
    }
}
