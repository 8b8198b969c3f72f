import Basics
import Dispatch
import Foundation

/// Reads a terminal: makes it raw, parses its input, and restores it while the program is stopped.
///
/// Events are delivered one at a time on a private queue, without a lock held.
public final class TerminalReader: Sendable {
    /// An event of the terminal.
    public enum Event: Sendable {
        case input(TerminalInput)
        /// The program is about to be stopped; the terminal is still raw.
        case stopping
        /// The program was continued; the terminal is raw again.
        case continued
        /// There is nothing more to read.
        case gone
    }

    /// A stop by ``suspend()``. Two things show that the program was continued, in either order: the call that stopped
    /// it returns, and a signal arrives.
    private enum Stop {
        case none
        /// Neither has happened.
        case asked
        /// The call has returned, and its signal may still arrive.
        case returned
    }

    private struct State {
        var parser: InputParser
        /// The number of reads, to detect whether input followed.
        var reads = 0
        var sources: [any DispatchSourceProtocol] = []
        /// The source of the keys, while another program reads them.
        var suspended: (any DispatchSourceProtocol)?
        var onEvent: (@Sendable (Event) -> Void)?
        /// The signal actions before the signals were watched.
        var dispositions: [(number: Int32, action: sigaction)] = []
        /// Whether another program has the terminal.
        var isPaused = false
        var stop = Stop.none
        /// Counts how often the program was continued in the background, so that an outdated timer is detected.
        var backgroundWaits = 0

        mutating func cancelSources() {
            for source in sources { source.cancel() }
            sources = []
            for (number, action) in dispositions {
                var action = action
                sigaction(number, &action, nil)
            }
            dispositions = []
            resumeKeys()  // a suspended source must not be released
        }

        mutating func suspendKeys() {
            guard suspended == nil, let keys = sources.first else { return }
            keys.suspend()
            suspended = keys
        }

        mutating func resumeKeys() {
            suspended?.resume()
            suspended = nil
        }
    }

    private let descriptor: Int32
    private let terminal: RawTerminal
    private let queue = DispatchQueue(label: "terminal-input")
    private let state: Lock<State>

    /// - Parameters:
    ///   - descriptor: The terminal's descriptor. It stays open.
    ///   - awaitedReports: See ``InputParser/init(awaitedReports:)``.
    public init(_ descriptor: Int32 = 0, awaitedReports: Int = 0) {
        self.descriptor = descriptor
        state = Lock(State(parser: InputParser(awaitedReports: awaitedReports)))
        terminal = RawTerminal(descriptor)
    }

    deinit { close() }

    // MARK: Life cycle

    /// Starts reading. In the background, waits until this process is in the foreground, as a shell's jobs do.
    public func open(_ onEvent: @escaping @Sendable (Event) -> Void) throws(TerminalError) {
        if !terminal.isForeground { stop(SIGTTIN) }
        try terminal.makeRaw()
        state.withLock { $0.onEvent = onEvent }
        let dispositions = [SIGWINCH, SIGTSTP, SIGCONT].map { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return (number, action)
        }
        let sources = [watchKeys()] + watchSignals()
        state.withLock { ($0.sources, $0.dispositions) = (sources, dispositions) }
    }

    /// Restores the terminal for good. Delivers no more events.
    public func close() {
        terminal.leave()
        state.withLock { state in
            state.cancelSources()
            state.onEvent = nil
        }
    }

    /// Restores the terminal for another program meanwhile; ``resume()`` takes it back.
    public func pause() {
        // Finishes reading the current key; the next one is for the other program.
        queue.sync {
            state.withLock { state in
                state.isPaused = true
                state.suspendKeys()
            }
        }
        terminal.restore()
    }

    /// Makes the terminal raw again after ``pause()``.
    public func resume() throws(TerminalError) {
        state.withLock { $0.isPaused = false }
        defer { state.withLock { $0.resumeKeys() } }
        try terminal.makeRaw()
    }

    private func tell(_ event: Event) { state.withLock { $0.onEvent }?(event) }

    // MARK: Keys

    private func watchKeys() -> any DispatchSourceProtocol {
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.readKeys() }
        source.resume()
        return source
    }

    private func readKeys() {
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else {
            if count < 0, errno == EINTR || errno == EAGAIN { return }
            if count < 0, errno == EIO, !terminal.isForeground { return stop(SIGTTIN) }
            // Otherwise the source would report this forever.
            state.withLock { $0.cancelSources() }
            return tell(.gone)
        }
        let (inputs, patience, reads) = state.withLock { state in
            state.reads += 1
            return (state.parser.parse(buffer[..<count]), state.parser.patience, state.reads)
        }
        for input in inputs { tell(.input(input)) }
        if let patience { waitForMore(patience, reads) }
    }

    private func waitForMore(_ patience: Duration, _ reads: Int) {
        let delay = DispatchTimeInterval.milliseconds(Int(patience / .milliseconds(1)))
        queue.asyncAfter(deadline: .now() + delay) { [weak self] in self?.nothingFollowed(reads) }
    }

    private func nothingFollowed(_ reads: Int) {
        let (inputs, patience) = state.withLock { state in
            guard state.reads == reads else { return ([TerminalInput](), Duration?.none) }
            return (state.parser.flush(), state.parser.patience)
        }
        for input in inputs { tell(.input(input)) }
        if let patience { waitForMore(patience, reads) }
    }

    // MARK: Signals

    private func watchSignals() -> [any DispatchSourceProtocol] {
        func watch(_ number: Int32, _ onSignal: @escaping @Sendable (TerminalReader) -> Void)
            -> any DispatchSourceProtocol
        {
            signal(number, SIG_IGN)  // otherwise the default action precedes the source
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in self.map(onSignal) }
            source.resume()
            return source
        }
        return [
            watch(SIGWINCH) { $0.tell(.input(.resize(TerminalSize(of: $0.descriptor)))) },
            watch(SIGTSTP) { $0.suspend() },
            watch(SIGCONT) { $0.continued() },
        ]
    }

    /// Gives the terminal back to the parent shell until it continues this process.
    public func suspend() {
        tell(.stopping)
        terminal.restore()
        state.withLock { state in
            state.suspendKeys()  // the keys are for the shell
            state.stop = .asked
        }
        stop(SIGTSTP)
        let isFirst = state.withLock { state in
            guard state.stop == .asked else { return false }
            state.stop = .returned
            return true
        }
        if isFirst { goOn() }
    }

    private func continued() {
        let isFirst = state.withLock { state in
            defer { state.stop = .none }
            return state.stop != .returned
        }
        if isFirst { goOn() }
    }

    private func goOn() {
        if terminal.isForeground { takeBack() } else { goOnInBackground() }
    }

    /// The time that a program continued in the background keeps running, because it may have been continued in order
    /// to end.
    private static let backgroundPatience = DispatchTimeInterval.seconds(3)

    private func goOnInBackground() {
        tell(.stopping)  // it may not have been stopped cleanly
        let wait = state.withLock { state in
            state.suspendKeys()
            state.backgroundWaits += 1
            return state.backgroundWaits
        }
        queue.asyncAfter(deadline: .now() + Self.backgroundPatience) { [weak self] in
            guard let self, state.withLock({ $0.onEvent != nil && $0.backgroundWaits == wait }) else { return }
            if terminal.isForeground { takeBack() } else { stop(SIGTTIN) }
        }
    }

    private func takeBack() {
        let isPaused = state.withLock { state in
            state.backgroundWaits += 1
            return state.isPaused
        }
        if isPaused { return }
        defer { state.withLock { $0.resumeKeys() } }
        do {
            try terminal.makeRaw()
            tell(.continued)
        } catch {
            tell(.gone)
        }
    }

    /// Stops this process with the signal's default action. Does nothing if no process could continue it.
    private func stop(_ number: Int32) {
        var watched = sigaction()
        sigaction(number, nil, &watched)
        signal(number, SIG_DFL)
        var (numbers, masked) = (sigset_t(), sigset_t())
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, &masked)  // Dispatch blocks signals on its threads
        raise(number)
        pthread_sigmask(SIG_SETMASK, &masked, nil)
        sigaction(number, &watched, nil)
    }
}
