import Foundation

/// What a command is given to read.
enum Input {
    /// The bytes of a file; `-` is standard input.
    static func bytes(of file: String) throws(CommandFailure) -> Data {
        let handle = file == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: file)
        guard let handle, let data = try? handle.readToEnd() ?? Data() else {
            throw CommandFailure(.badData, "\(file) cannot be read")
        }
        return data
    }

    /// The text of a file; `-` is standard input.
    static func text(of file: String) throws(CommandFailure) -> String {
        guard let text = String(data: try bytes(of: file), encoding: .utf8) else {
            throw CommandFailure(.badData, "\(file) is not UTF-8 text")
        }
        return text
    }

    /// An argument as it is, or standard input for `-`.
    static func text(given argument: String) throws(CommandFailure) -> String {
        argument == "-" ? try text(of: "-") : argument
    }
}
