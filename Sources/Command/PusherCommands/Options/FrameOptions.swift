import ArgumentParser
import Basics
import CommandKit
import Foundation
import PusherSwift

/// The option to show messages on the wire.
struct FrameOptions: ParsableArguments {
    @Flag(help: "Also print each message to (>) and from (<) the server on standard error, without secrets.")
    var frames = false

    /// The output format and stream of a message.
    enum Output: Sendable {
        /// A text line on standard error.
        case text
        /// A JSON object on standard error, if standard output has other content.
        case jsonOnStandardError
        /// A JSON object on standard output.
        case json
    }

    /// Returns the tap that prints messages; `nil` unless requested.
    func tap(_ output: Output) -> (@Sendable (PusherWireMessage) -> Void)? {
        guard frames else { return nil }
        return { message in
            switch output {
            case .text: StandardError.write(Self.text(of: message))
            case .jsonOnStandardError: StandardError.write(json: Self.json(of: message))
            case .json: _ = StandardOutput.write(json: Self.json(of: message))
            }
        }
    }

    static func text(of message: PusherWireMessage) -> TerminalText {
        let arrow = message.direction == .outgoing ? ">" : "<"
        return "\(Record.clock(message.time))  \(arrow)  \(message.text)"
    }

    static func json(of message: PusherWireMessage) -> String {
        var line = JSONLine(type: "frame", time: message.time)
        line.add("direction", message.direction.rawValue)
        line.add("text", message.text)
        return line.text
    }
}
