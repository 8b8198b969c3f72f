import Foundation
import Testing

@testable import TerminalUI

/// The terminal and the signals after a fault and after the end. Each case runs in its own process.
struct CrashRestorationTests {
    private static let bytes = "the terminal is as it was"

    /// Uses its result, so that it is not compiled to a loop.
    private static func recurse(_ depth: Int) -> Int {
        depth == .max ? 0 : recurse(depth + 1) + Int.random(in: 0...1)
    }

    private static func alternateStack() -> stack_t {
        var stack = stack_t()
        sigaltstack(nil, &stack)
        return stack
    }

    /// Without an alternate stack, the signal handler has no room to run.
    @Test func aStackThatOverflowsGivesTheTerminalBack() async throws {
        let result = try await #require(
            processExitsWith: .signal(SIGSEGV), observing: [\.standardOutputContent]
        ) {
            CrashRestoration.arm(output: 1, settings: nil, bytes: Self.bytes)
            AlternateStack.install()
            exit(Int32(truncatingIfNeeded: Self.recurse(0)))
        }
        #expect(String(decoding: result.standardOutputContent, as: UTF8.self).hasSuffix(Self.bytes))
    }

    @Test func aThreadHasOneAlternateStack_untilItEnds() async throws {
        await #expect(processExitsWith: .success) {
            let thread = Thread {
                AlternateStack.install()
                let first = Self.alternateStack()
                AlternateStack.install()
                let second = Self.alternateStack()
                exit(first.ss_sp != nil && first.ss_sp == second.ss_sp && first.ss_flags == 0 ? 0 : 1)
            }
            thread.start()
            while true { sleep(1) }
        }
    }

    /// Signals that end a program unless they are observed.
    private static let deadly =
        [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGIO, SIGPWR, 34, 64]

    /// Sends the process a signal, which Dispatch's threads do not receive.
    private static func receive(_ number: Int32) -> Never {
        kill(getpid(), number)
        while true { sleep(1) }
    }

    @Test(arguments: CrashRestorationTests.deadly) func aSignalThatNobodyWatchesGivesTheTerminalBack(
        number: Int32
    ) async throws {
        let result = try await #require(
            processExitsWith: .signal(number), observing: [\.standardOutputContent]
        ) { [number] in
            CrashRestoration.arm(output: 1, settings: nil, bytes: Self.bytes)
            Self.receive(number)
        }
        #expect(String(decoding: result.standardOutputContent, as: UTF8.self).hasSuffix(Self.bytes))
    }

    @Test func aSignalThatIsWatchedOrIgnoredStaysSo() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGUSR1, SIG_IGN)
            signal(SIGUSR2) { _ in exit(7) }
            CrashRestoration.arm(output: 1, settings: nil, bytes: Self.bytes)
            kill(getpid(), SIGUSR1)
            Self.receive(SIGUSR2)
        }
    }

    // MARK: Size

    /// A terminal may report any size; a screen of 65535 × 65535 would need more memory than available.
    @Test func aTerminalThatSaysItIsHugeGetsABoundedScreen() throws {
        let (descriptor, _) = try #require(Self.terminal())
        defer { close(descriptor) }
        var size = winsize(ws_row: .max, ws_col: .max, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0)
        #expect(TerminalSize(of: descriptor) == TerminalSize(columns: 1000, rows: 500))
    }

    // MARK: Signals

    private static let numbers = [
        SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSYS, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT,
    ]

    /// The addresses of the handlers.
    private static func dispositions() -> [Int] {
        numbers.map { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return unsafeBitCast(action.__sigaction_handler, to: Int.self)
        }
    }

    /// Returns a terminal without job control, and the end to read from.
    private static func terminal() -> (terminal: Int32, other: Int32)? {
        let other = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // unlockpt and ptsname, which are not visible in Swift.
        var (isLocked, number) = (Int32(0), Int32(0))
        guard ioctl(other, 0x4004_5431, &isLocked) == 0, ioctl(other, 0x8004_5430, &number) == 0 else {
            return nil
        }
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        return terminal >= 0 ? (terminal, other) : nil
    }

    @Test func signalsDoAgainWhatTheyDidBefore() async throws {
        await #expect(processExitsWith: .success) {
            let (descriptor, _) = try #require(Self.terminal())
            signal(SIGTSTP) { _ in }
            signal(SIGQUIT) { _ in }
            signal(SIGWINCH) { _ in }
            let before = Self.dispositions()
            var settings = termios()
            tcgetattr(descriptor, &settings)
            for _ in 0..<2 {
                let terminal = Terminal(input: descriptor, output: descriptor)
                try terminal.open()
                #expect(zip(Self.dispositions(), before).allSatisfy { $0 != $1 })
                terminal.close()
                #expect(Self.dispositions() == before, "\(Self.dispositions()) \(before)")
                var restored = termios()
                tcgetattr(descriptor, &restored)
                #expect(restored.c_lflag == settings.c_lflag && restored.c_iflag == settings.c_iflag)
            }
        }
    }
}
