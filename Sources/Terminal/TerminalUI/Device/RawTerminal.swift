import Basics
import Foundation

/// A terminal that delivers each key as it is pressed, until it is restored.
public final class RawTerminal: Sendable {
    private struct State {
        /// The terminal's previous settings; nil while these are in effect.
        var before: termios?
        var isLeft = false
    }

    private let descriptor: Int32
    private let state = Lock(State())

    /// - Parameter descriptor: The terminal's descriptor. It stays open.
    public init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { restore() }

    /// Whether this process is in the terminal's foreground, not put in the background by a shell.
    public var isForeground: Bool {
        let group = tcgetpgrp(descriptor)
        return group < 0 || group == getpgrp()  // below 0: no job control
    }

    /// Makes the terminal raw: it neither echoes input, nor changes it or turns it into signals. Output still gets its
    /// carriage returns.
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
            // At once, as in `restore`: output may wait forever for a reader.
            guard tcsetattr(descriptor, TCSANOW, &raw) == 0 else { throw .cannotReadKeys }
            if state.before == nil { state.before = now }
        }
    }

    /// Restores the terminal's previous settings. It can be made raw again.
    public func restore() { state.withLock { restore(&$0) } }

    /// Restores the terminal for good.
    public func leave() {
        state.withLock { state in
            restore(&state)
            state.isLeft = true
        }
    }

    private func restore(_ state: inout State) {
        guard var before = state.before else { return }
        state.before = nil
        // In the background, the shell owns the terminal. It has its own settings and stops processes that change them.
        if isForeground { tcsetattr(descriptor, TCSANOW, &before) }
    }
}
