import Foundation

/// A password or a token that the user gives: never as an argument, which the process list shows.
enum SecretInput {
    private static let maximumLength = 1 << 14

    /// All of standard input but the line's end.
    static func fromStandardInput(_ what: String) throws(CommandFailure) -> String {
        guard let data = try? FileHandle.standardInput.read(upToCount: maximumLength + 1),
            data.count <= maximumLength, let text = String(data: data, encoding: .utf8)
        else { throw CommandFailure(.badData, "standard input is no \(what)") }
        return try checked(text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text, what)
    }

    /// A line typed at the terminal, where it is not shown. Nil if Ctrl-C was typed.
    static func typed(_ prompt: String) throws(CommandFailure) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw CommandFailure(.unavailable, "there is no terminal to ask at: use --password-stdin")
        }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw CommandFailure(.unavailable, "the terminal cannot be made to hide what is typed")
        }
        // Ctrl-C is read as a character: as a signal it would leave the terminal mute.
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else {
            throw CommandFailure(.unavailable, "the terminal cannot be made to hide what is typed")
        }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            say("\n", to: terminal)
        }
        say(prompt, to: terminal)
        guard let line = line(from: terminal) else { return nil }
        return try checked(String(decoding: line, as: UTF8.self), "password")
    }

    private static func line(from terminal: Int32) -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            switch byte {
            case 3: return nil  // Ctrl-C
            case 4, 10, 13: return line  // Ctrl-D, and the line's end
            case 8, 127:
                while let last = line.popLast(), last & 0xC0 == 0x80 {}  // a whole character
            case 21: line = []  // Ctrl-U
            default: if line.count < maximumLength { line.append(byte) }
            }
        }
    }

    private static func say(_ text: String, to terminal: Int32) {
        _ = text.withCString { write(terminal, $0, strlen($0)) }
    }

    private static func checked(_ secret: String, _ what: String) throws(CommandFailure) -> String {
        guard !secret.isEmpty else { throw CommandFailure(.badData, "the \(what) is empty") }
        return secret
    }
}
