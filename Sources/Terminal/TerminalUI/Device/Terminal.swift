import Basics
import Dispatch
import Foundation

/// A terminal whose whole screen belongs to the program while it is open.
///
/// It shows one surface at a time: the newest one wins, and at most ``framesPerSecond`` of them are painted. A slow
/// terminal never blocks the caller. Closing, a stop from the keyboard and a crash restore the terminal; only a kill
/// that cannot be caught does not.
public final class Terminal: Sendable {
    /// The maximum frame rate. Of surfaces shown faster than this, all but the newest are skipped.
    public static let framesPerSecond = 60

    private enum Phase {
        case closed
        case open
        /// Another program is using the terminal, or this one is stopped.
        case paused
    }

    private struct State {
        var phase = Phase.closed
        var painter = ScreenPainter()
        var queries = TerminalQueries()
        var modes: TerminalModes
        var showsPixels = true
        var next: TerminalSurface?
        /// The newest surface, for repainting the screen.
        var last: TerminalSurface?
        var isPainting = false
        var title: String?
        /// The time to give up on a terminal that accepts no output; nil while this program has the screen.
        var deadline: ContinuousClock.Instant?
    }

    /// The user's input and the terminal's replies. Ends when the terminal is gone or closed.
    public let inputs: AsyncStream<TerminalInput>

    private let continuation: AsyncStream<TerminalInput>.Continuation
    private let input: Int32
    private let output: Int32
    private let writer: TerminalWriter
    private let reader: TerminalReader
    /// All output goes through this queue in order: no frame is written after leaving the screen.
    private let queue = DispatchQueue(label: "terminal-output", qos: .userInitiated)
    private let state: Lock<State>

    /// Creates a closed terminal. Only one can be open at a time.
    public init(input: Int32 = 0, output: Int32 = 1, modes: TerminalModes = TerminalModes()) {
        (self.input, self.output) = (input, output)
        writer = TerminalWriter(output)
        reader = TerminalReader(input, awaitedReports: TerminalQueries.cursorReports)
        state = Lock(State(modes: modes))
        (inputs, continuation) = AsyncStream.makeStream(of: TerminalInput.self, bufferingPolicy: .bufferingNewest(4096))
    }

    /// Returns whether both descriptors are a terminal that can move its cursor.
    public static func isThere(input: Int32 = 0, output: Int32 = 1) -> Bool {
        isatty(input) == 1 && isatty(output) == 1 && environment("TERM") != "dumb"
    }

    /// The terminal's current size.
    public var size: TerminalSize { TerminalSize(of: output) }

    /// The terminal's answers about its features.
    public var queries: TerminalQueries { state.withLock { $0.queries } }

    /// The widths of characters on the terminal.
    public var profile: WidthProfile { queries.profile }

    // MARK: Life cycle

    /// Takes over the screen and queries the terminal's features. The answers update ``queries`` when they arrive,
    /// which may be never. The last one is a ``TerminalReply/attributes(_:)`` among ``inputs``.
    public func open() throws(TerminalError) {
        try reader.open { [weak self] event in self?.received(event) }
        var settings = termios()
        let hasSettings = tcgetattr(input, &settings) == 0
        settings.c_lflag |= tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        settings.c_iflag |= tcflag_t(ICRNL | IXON)
        CrashRestoration.arm(
            output: writer.target, settings: hasSettings ? (input, settings) : nil, bytes: TerminalModes.leaving)
        let entering = state.withLock { state in
            state.phase = .open
            state.deadline = nil
            state.painter.features = Self.features(state)
            return state.modes.entering
        }
        write(entering + TerminalQueries.text(asksForGraphics: Self.canAskForGraphics))
    }

    /// Restores the terminal.
    public func close() { close { queue.sync(execute: $0) } }

    /// - Parameter write: Calls its argument when no other output is being written.
    private func close(_ write: (() -> Void) -> Void) {
        let phase = state.withLock { state in
            defer {
                state.phase = .closed
                state.deadline = state.deadline ?? .now + Self.patienceAtLeaving
            }
            return state.phase
        }
        guard phase != .closed else { return }
        if phase == .open { write { put(leaving) } }
        reader.close()
        CrashRestoration.disarm()
        continuation.finish()
    }

    // The last reference may be released on the queue itself.
    deinit { close { $0() } }

    /// A terminal that nobody reads must not keep the program from ending.
    private static let patienceAtLeaving = Duration.seconds(1)

    /// Lets another program, such as an editor, use the terminal meanwhile.
    public func pausing<Result>(_ work: () throws -> Result) throws -> Result {
        makeWay()
        reader.pause()
        defer {
            try? reader.resume()
            enter()
        }
        return try work()
    }

    /// Stops the program like Ctrl-Z, until it is continued.
    public func suspend() { reader.suspend() }

    /// Takes over the screen again, also after a stop that could not be noticed and in which a shell wrote on it.
    private func enter() {
        let entering = state.withLock { state -> String? in
            guard state.phase != .closed else { return nil }
            let leaving = state.phase == .open ? TerminalModes.leaving : ""
            state.phase = .open
            state.deadline = nil
            state.painter.forget()
            state.next = state.next ?? state.last
            return leaving + state.modes.entering
        }
        guard let entering else { return }
        write(entering)
        schedulePainting()
    }

    private func makeWay() {
        let wasOpen = state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .paused
            state.deadline = .now + Self.patienceAtLeaving
            return true
        }
        if wasOpen { queue.sync { put(leaving) } }
    }

    /// The output that removes the images and switches off all modes.
    private var leaving: String { state.withLock { $0.painter.clearing } + TerminalModes.leaving }

    /// Allows the calling thread to restore the terminal even after a stack overflow.
    public func protectThread() { AlternateStack.install() }

    // MARK: Input

    private func received(_ event: TerminalReader.Event) {
        switch event {
        case .input(.reply(let reply)):
            let keys = state.withLock { state in
                state.queries.received(reply)
                let features = Self.features(state)
                if features != state.painter.features {
                    state.painter.features = features
                    state.painter.forget()
                }
                guard state.queries.reportsKeys, !state.modes.reportsKeys, state.phase == .open else { return false }
                state.modes.reportsKeys = true
                return true
            }
            if keys { write("\u{1B}[>1u") }
            continuation.yield(.reply(reply))
        case .input(.resize(let size)):
            state.withLock { $0.painter.forget() }
            continuation.yield(.resize(size))
        case .input(let input): continuation.yield(input)
        case .stopping: makeWay()
        case .continued: enter()
        case .gone: continuation.finish()
        }
    }

    /// Until the terminal has answered, the features come from the environment.
    private static func features(_ state: State) -> ScreenPainter.Features {
        let queries = state.queries
        let term = environment("TERM") ?? ""
        let colors: ColorDepth
        if environment("NO_COLOR") != nil {
            colors = .none
        } else if ["truecolor", "24bit"].contains(environment("COLORTERM") ?? "") {
            colors = .rgb
        } else {
            colors = term.contains("256") ? .indexed : .sixteen
        }
        return ScreenPainter.Features(
            colors: colors, synchronizes: queries.synchronizes, hasLinks: term != "linux",
            graphics: colors == .none || !state.showsPixels || !canAskForGraphics ? .halfBlocks : queries.graphics)
    }

    private static var canAskForGraphics: Bool { TerminalQueries.canAskForGraphics(environment) }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: Output

    /// Shows a surface as soon as the terminal is ready. Skips an earlier one that is still waiting.
    public func show(_ surface: TerminalSurface) {
        state.withLock { state in
            state.next = surface
            state.last = surface
        }
        schedulePainting()
    }

    /// Paints everything again, after another program wrote on the screen.
    public func repaint() {
        state.withLock { state in
            state.painter.forget()
            state.next = state.next ?? state.last
        }
        schedulePainting()
    }

    /// Sets the window's title. It must be clean text.
    public func setTitle(_ title: String) {
        let isNew = state.withLock { state in
            defer { state.title = title }
            return state.title != title && state.phase == .open
        }
        if isNew { write("\u{1B}]2;\(title)\u{1B}\\") }
    }

    /// Rings or flashes the terminal, depending on its settings.
    public func ringBell() { write("\u{7}") }

    /// Notifies the user outside of the program's window, if the terminal supports it (OSC 9). The text must be clean.
    ///
    /// - Parameter program: The prefix of the text. Without one, some terminals read a number at the start as another
    ///   command.
    public func notify(_ text: String, from program: String) { write("\u{1B}]9;\(program): \(text)\u{1B}\\") }

    /// Copies text to the clipboard on the user's side of the connection (OSC 52).
    public func copy(_ text: String) {
        write("\u{1B}]52;c;\(Data(text.utf8).base64EncodedString())\u{1B}\\")
    }

    /// Sets whether images are shown with their pixels where the terminal supports it; otherwise in half blocks.
    /// Usually on.
    public func setShowsPixels(_ isOn: Bool) {
        let clearing = state.withLock { state -> String? in
            state.showsPixels = isOn
            let features = Self.features(state)
            defer { state.painter.features = features }
            return features == state.painter.features ? nil : state.painter.clearing
        }
        guard let clearing else { return }
        write(clearing)
        repaint()
    }

    /// Sets whether the terminal reports the mouse. If not, the terminal's own selection works.
    public func setReportsMouse(_ isOn: Bool) {
        state.withLock { $0.modes.reportsMouse = isOn }
        let sign = isOn ? "h" : "l"
        write("\u{1B}[?1000\(sign)\u{1B}[?1002\(sign)\u{1B}[?1006\(sign)")
    }

    private func write(_ text: String) {
        queue.async { [self] in
            if state.withLock({ $0.phase == .open }) { put(text) }
        }
    }

    private func schedulePainting() {
        let starts = state.withLock { state in
            guard !state.isPainting, state.phase == .open else { return false }
            state.isPainting = true
            return true
        }
        if starts { queue.async { [weak self] in self?.paint() } }
    }

    private func paint() {
        let bytes = state.withLock { state -> String? in
            state.isPainting = false
            guard state.phase == .open, let next = state.next else { return nil }
            state.next = nil
            state.isPainting = true
            return state.painter.paint(next)
        }
        guard let bytes else { return }
        put(bytes)
        queue.asyncAfter(deadline: .now() + .microseconds(1_000_000 / Self.framesPerSecond)) { [weak self] in
            self?.paint()
        }
    }

    /// Writes to the terminal, waiting for it while it is open and a moment longer. Called on the queue.
    private func put(_ text: String) {
        writer.write(text.utf8) { state.withLock { $0.deadline } }
    }
}
