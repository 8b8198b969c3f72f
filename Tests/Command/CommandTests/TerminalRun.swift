import Basics
import Foundation
import TestSupport

/// One run of `pusher-cli`, or of a shell that runs it, at its own terminal.
final class TerminalRun: Sendable {
    struct NoTerminal: Error {}

    private struct State {
        var screen: TerminalScreen
        var status: Int32?
    }

    private let process: ChildProcess
    private let master: FileHandle
    private let state: Lock<State>

    /// - Parameters:
    ///   - program: The program to run; `nil` for `pusher-cli`.
    ///   - isRead: Whether to read its output; otherwise the screen stays empty.
    init(
        _ program: String? = nil, _ arguments: [String], environment: [String: String] = [:], columns: Int = 80,
        isRead: Bool = true
    ) throws {
        let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        master = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // unlockpt and ptsname, which are not visible in Swift.
        var (isLocked, number) = (Int32(0), Int32(0))
        guard ioctl(descriptor, 0x4004_5431, &isLocked) == 0, ioctl(descriptor, 0x8004_5430, &number) == 0 else {
            throw NoTerminal()
        }
        state = Lock(State(screen: TerminalScreen(columns: columns)))
        Self.resize(descriptor, columns)
        let environment = ProcessInfo.processInfo.environment
            .filter { ["PATH", "HOME", "LD_LIBRARY_PATH", "TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }
            .merging(["XDG_DATA_HOME": (environment["XDG_CONFIG_HOME"] ?? NSTemporaryDirectory()) + "/data"]) { $1 }
            .merging(environment) { $1 }
        process = try ChildProcess(
            program ?? CommandRun.executable.path, arguments, environment: environment, terminal: "/dev/pts/\(number)")
        if isRead { readScreen() }
        Task { [process, state] in
            let status = await process.status()
            state.withLock { $0.status = status }
        }
    }

    deinit { signal(SIGKILL) }

    private func readScreen() {
        Thread.detachNewThread { [state, master] in
            var buffer = [UInt8](repeating: 0, count: 1 << 14)
            while true {
                let count = read(master.fileDescriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                state.withLock { $0.screen.feed(buffer[..<count]) }
            }
        }
    }

    /// Writes to the screen like another program.
    func disturb(_ text: String) { state.withLock { $0.screen.feed(text.utf8) } }

    /// Whether the terminal accepts no more output until it is read.
    var isFull: Bool {
        var waiting = Int32(0)
        return ioctl(master.fileDescriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 3500
    }

    func type(_ text: String) throws { try master.write(contentsOf: Data(text.utf8)) }

    func resize(_ columns: Int) {
        state.withLock { $0.screen.columns = columns }
        Self.resize(master.fileDescriptor, columns)
    }

    private static func resize(_ descriptor: Int32, _ columns: Int) {
        var size = winsize(ws_row: 24, ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    }

    var screen: TerminalScreen { state.withLock { $0.screen } }

    func shows(_ condition: @Sendable (TerminalScreen) -> Bool) async -> Bool {
        await eventually(within: .seconds(20)) { condition(self.screen) }
    }

    /// Whether a line contains the text.
    func shows(_ text: String) async -> Bool { await shows { $0.lines.contains { $0.contains(text) } } }

    /// Whether the last line equals `line`, with `|` at the cursor.
    func hasPrompt(_ line: String) async -> Bool {
        let text = line.replacing("|", with: "")
        let before = String(line.prefix { $0 != "|" })
        return await shows { screen in
            screen.lines.last == Self.trimmed(text) && screen.cursor.row == screen.lines.count - 1
                && screen.cursor.column == Self.columns(before)
        }
    }

    private static func trimmed(_ text: String) -> String {
        String(text.reversed().drop { $0 == " " }.reversed())
    }

    /// Measures a text by the screen's own rules.
    private static func columns(_ text: String) -> Int {
        var screen = TerminalScreen(columns: .max / 2)
        screen.feed(text.utf8)
        return screen.cursor.column
    }

    /// Whether single keys are read without echo.
    var isRaw: Bool {
        var settings = termios()
        return tcgetattr(master.fileDescriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ICANON | ECHO) == 0
    }

    func status() async -> Int32? {
        _ = await eventually { self.state.withLock { $0.status != nil } }
        return state.withLock { $0.status }
    }

    func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { kill(process.id, number) } }
    }
}
