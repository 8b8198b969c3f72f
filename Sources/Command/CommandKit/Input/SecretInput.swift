import Foundation

/// Reads a password or token from the user. These are never arguments, because the process list shows those.
package enum SecretInput {
    private static let maximumLength = 1 << 14

    /// Reads standard input without the final line end. Returns `nil` if the task was cancelled.
    package static func fromStandardInput(_ what: String) throws(CommandFailure) -> String? {
        try StatusLine.pausing { () throws(CommandFailure) in try allOfStandardInput(what) }
    }

    private static func allOfStandardInput(_ what: String) throws(CommandFailure) -> String? {
        var bytes: [UInt8] = []
        while true {
            switch byte(from: STDIN_FILENO) {
            case .cancelled: return nil
            case .failed: throw Input.unreadable
            case .end:
                let text = String(decoding: bytes, as: UTF8.self)
                let secret = text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
                guard !secret.isEmpty else {
                    throw CommandFailure(.badData, "standard input is empty, but must hold the \(what)")
                }
                return secret
            case .byte(let byte):
                bytes.append(byte)
                guard bytes.count <= maximumLength else {
                    throw CommandFailure(.badData, "standard input is too long for a \(what)")
                }
            }
        }
    }

    /// Reads two passwords, one per line. Returns `nil` if the task was cancelled.
    package static func oldAndNewFromStandardInput() throws(CommandFailure) -> (old: String, new: String)? {
        guard let text = try fromStandardInput("old and the new password") else { return nil }
        let lines = text.split(separator: /\r?\n/, omittingEmptySubsequences: false).map { String($0) }
        guard lines.count == 2, !lines[0].isEmpty, !lines[1].isEmpty else {
            throw CommandFailure(.badData, "standard input must hold the old and the new password, one per line")
        }
        return (lines[0], lines[1])
    }

    /// Reads a new password twice to rule out typing errors. Returns `nil` on Ctrl-C.
    package static func typedTwice(_ prompt: TerminalText) throws(CommandFailure) -> String? {
        guard let first = try typed(prompt), let second = try typed("The same again: ") else { return nil }
        guard first == second else {
            throw CommandFailure(.badData, "the two passwords differ; nothing is changed")
        }
        return first
    }

    /// Reads a line from the terminal, hidden unless it may be shown. Returns `nil` on Ctrl-C.
    package static func typed(
        _ prompt: TerminalText, what: String = "password", isShown: Bool = false, option: String = "--password-stdin"
    ) throws(CommandFailure) -> String? {
        guard
            let line = try typedLine(
                prompt, isShown: isShown,
                withoutTerminal: "there is no terminal to ask for the \(what): use \(option)")
        else { return nil }
        guard !line.isEmpty else { throw CommandFailure(.badData, "the \(what) is empty") }
        return line
    }

    /// Like ``typed(_:what:isShown:option:)``, but accepts an empty line.
    ///
    /// - Parameter reason: The advice if there is no terminal.
    package static func typedLine(
        _ prompt: TerminalText, isShown: Bool, withoutTerminal reason: String
    ) throws(CommandFailure) -> String? {
        try StatusLine.pausing { () throws(CommandFailure) in
            try typedLineAtTerminal(prompt, isShown: isShown, withoutTerminal: reason)
        }
    }

    private static func typedLineAtTerminal(
        _ prompt: TerminalText, isShown: Bool, withoutTerminal reason: String
    ) throws(CommandFailure) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { throw CommandFailure(.unavailable, reason) }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw CommandFailure(.unavailable, "the terminal cannot be set to hide what is typed")
        }
        // Ctrl-C is read as a character, because a signal would leave the terminal without echo.
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
            throw CommandFailure(.unavailable, "the terminal cannot be set to hide what is typed")
        }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            say("\n", to: terminal)
        }
        say(prompt, to: terminal)
        return line(
            from: terminal,
            echo: { if isShown { say("\r\u{1B}[K\(prompt)\($0)", to: terminal) } })
    }

    /// - Parameter echo: Called with the current line after each key.
    private static func line(from terminal: Int32, echo: (String) -> Void) -> String? {
        var line: [UInt8] = []
        while true {
            switch byte(from: terminal) {
            case .cancelled, .failed, .byte(3): return nil  // 3 is Ctrl-C
            case .end, .byte(4), .byte(10), .byte(13): return String(decoding: line, as: UTF8.self)  // 4 is Ctrl-D
            case .byte(8), .byte(127):
                while let last = line.popLast(), last & 0xC0 == 0x80 {}  // removes a whole character
            case .byte(21): line = []  // Ctrl-U
            case .byte(let byte): if line.count < maximumLength { line.append(byte) }
            }
            echo(String(decoding: line, as: UTF8.self))
        }
    }

    private enum Reading {
        case byte(UInt8)
        case end
        case failed
        case cancelled
    }

    /// Waits in short intervals, because a signal cancels the task.
    private static func byte(from descriptor: Int32) -> Reading {
        while !Task.isCancelled {
            var descriptors = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&descriptors, 1, 100)
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? .byte(byte) : count == 0 ? .end : .failed
        }
        return .cancelled
    }

    private static func say(_ text: TerminalText, to terminal: Int32) {
        _ = text.text.withCString { write(terminal, $0, strlen($0)) }
    }
}
