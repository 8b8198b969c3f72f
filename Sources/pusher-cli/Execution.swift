import ArgumentParser
import Foundation

/// A command that has no end of its own, or that makes an orderly one when a signal comes: it watches for signals itself.
protocol EndedBySignal: ParsableCommand {
    /// Whether it does so with these arguments. By default it does.
    var endsBySignal: Bool { get }
}

extension EndedBySignal {
    var endsBySignal: Bool { true }
}

/// A command whose arguments are looked at once every option is known. In `validate()` the value of a misspelt option would still
/// count as an argument, and the complaint would be about that.
protocol ArgumentChecking: ParsableCommand {
    func checkArguments() throws
}

/// Runs one command from its arguments to the exit status: the one place where errors become words and a status, where a signal
/// breaks work off, and where output that could not be written is noticed.
enum Execution {
    static func run(_ arguments: [String]? = nil) async -> Never {
        StandardDescriptors.occupy()
        signal(SIGPIPE, SIG_IGN)  // a reader that leaves shows as a failed write
        var status = ExitStatus.done
        do {
            let command = try PusherCommand.parseAsRoot(arguments)
            do {
                try (command as? any ArgumentChecking)?.checkArguments()
                try await perform(command)
            } catch let error as ValidationError {
                let path = names(of: type(of: command), below: PusherCommand.self) ?? []
                status = refuse(
                    error.message, hint: "See '\(path.joined(separator: " ")) --help' for more information.")
            }
        } catch {
            status = report(error)
        }
        StatusLine.end()
        do throws(CommandFailure) {
            try StandardOutput.requireTaken()
        } catch {
            status = report(error)
        }
        exit(status.rawValue)
    }

    private static func perform(_ command: any ParsableCommand) async throws {
        // Only the task that runs it touches it.
        nonisolated(unsafe) var command = command
        let work: @Sendable () async throws -> Void = {
            if let asynchronous = command as? any AsyncParsableCommand {
                nonisolated(unsafe) var asynchronous = asynchronous
                try await asynchronous.run()
            } else {
                try command.run()
            }
        }
        let endsBySignal = (command as? any EndedBySignal)?.endsBySignal ?? false
        if endsBySignal { try await work() } else { try await SignalWatch.finishing(work) }
    }

    /// Says what went wrong, if that has not been said.
    private static func report(_ error: any Error) -> ExitStatus {
        if let code = error as? ExitCode { return ExitStatus(rawValue: code.rawValue) ?? .unavailable }
        StatusLine.end()
        if let error = error as? any ReportableError {
            StandardError.complain(error)
            return error.exitStatus
        }
        if error is CancellationError {
            StandardError.complain(CommandFailure.interrupted)
            return .interrupted
        }
        let code = PusherCommand.exitCode(for: error)
        if code.isSuccess {  // --help, --version, a script for a shell
            _ = StandardOutput.write((PusherCommand.fullMessage(for: error) + "\n").utf8)
            return .done
        }
        guard code == .validationFailure else {
            StandardError.complain(error)
            return .unavailable
        }
        let hint = PusherCommand.fullMessage(for: error).split(separator: "\n").last ?? ""
        return refuse(
            PusherCommand.message(for: error),
            hint: hint.contains("--help") ? hint.trimmingCharacters(in: .whitespaces) : nil)
    }

    private static func refuse(_ message: String, hint: String?) -> ExitStatus {
        StatusLine.erase()
        StandardError.write("error: \(Complaint.text(wrongUse: message))")
        if let hint { StandardError.write("\(hint)") }
        return .wrongUse
    }

    /// How a command is called, from the root on; nil if it is not below `root`.
    private static func names(
        of command: any ParsableCommand.Type, below root: any ParsableCommand.Type
    ) -> [String]? {
        let name = root.configuration.commandName ?? root._commandName
        if command == root { return [name] }
        return root.configuration.subcommands.lazy.compactMap { names(of: command, below: $0) }.first.map {
            [name] + $0
        }
    }
}
