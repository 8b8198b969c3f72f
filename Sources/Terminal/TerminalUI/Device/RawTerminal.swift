import Basics
import Foundation

/// A terminal that hands over each key as it is pressed, until it is restored.
public final class RawTerminal: Sendable {
    private struct State {
        /// The terminal's settings as they were; nil while it has these.
        var before: termios?
        var isLeft = false
    }

    private let descriptor: Int32
    private let state = Lock(State())

    /// - Parameter descriptor: Of the terminal. It stays open.
    public init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { restore() }

    /// Whether the terminal listens to this process, and not to a shell that has put it in the background.
    public var isForeground: Bool {
        let group = tcgetpgrp(descriptor)
        return group < 0 || group == getpgrp()  // below 0: it controls no jobs
    }

    /// Nothing is echoed, changed or turned into a signal. What is written still gets its carriage returns.
    public func makeRaw() throws(TerminalError) {
        try state.withLock { state throws(TerminalError) in
            guard !state.isLeft else { return }
            var now = termios()
            guard tcgetattr(descriptor, &now) == 0 else { throw .cannotReadKeys }
            var raw = now
            raw.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | IXON | ISTRIP)
            raw.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON | ISIG | IEXTEN)
            raw.c_cc.6 = 1  // VMIN
            raw.c_cc.5 = 0  // VTIME
            // At once, as in `restore`: what is written may wait for a reader for ever.
            guard tcsetattr(descriptor, TCSANOW, &raw) == 0 else { throw .cannotReadKeys }
            if state.before == nil { state.before = now }
        }
    }

    /// Gives the terminal the settings that it had; it can be made raw again.
    public func restore() { state.withLock { restore(&$0) } }

    /// Restores it for good.
    public func leave() {
        state.withLock { state in
            restore(&state)
            state.isLeft = true
        }
    }

    private func restore(_ state: inout State) {
        guard var before = state.before else { return }
        state.before = nil
        // In the background it is the shell's, which has settings of its own and stops whoever changes them.
        if isForeground { tcsetattr(descriptor, TCSANOW, &before) }
    }
}
