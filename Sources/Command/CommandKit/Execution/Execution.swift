package import ArgumentParser
import Foundation

/// A command that runs until a signal ends it, or that shuts down cleanly on a signal. It watches for signals itself.
package protocol EndedBySignal: ParsableCommand {
    /// Whether this applies to the given arguments. The default is true.
    var endsBySignal: Bool { get }
}

extension EndedBySignal {
    package var endsBySignal: Bool { true }
}

/// A command whose arguments are checked only once every option is known. In `validate()` the value of a misspelt
/// option would still count as an argument and cause a misleading error.
package protocol ArgumentChecking: ParsableCommand {
    func checkArguments() throws
}

/// Runs one command, from its arguments to its exit status. Only here are errors turned into messages and a status,
/// signals interrupt work, and failed output is detected.
package enum Execution {
    /// - Parameter root: The root command.
    package static func run(_ root: any ParsableCommand.Type) async -> Never {
        StandardDescriptors.occupy()
        signal(SIGPIPE, SIG_IGN)  // a closed pipe shows up as a failed write
        signal(SIGQUIT, SIG_DFL)  // Swift would treat Ctrl-\ as a crash
        // ArgumentParser traps if a help text has no space.
        let columns = Environment["COLUMNS"].flatMap { Int($0) } ?? StandardOutput.columns ?? leastColumns
        if columns < leastColumns { setenv("COLUMNS", "\(leastColumns)", 1) }
        var status = ExitStatus.done
        let usage = UsageMistake(Array(CommandLine.arguments.dropFirst()), of: root)
        do {
            try DescriptorLimit.requireSome()
            if let mistake = usage.ofHelp { throw ValidationError(mistake) }
            let command = try root.parseAsRoot()
            do {
                try (command as? any ArgumentChecking)?.checkArguments()
                try await perform(command)
            } catch let error as ValidationError {
                status = refuse(error.message, hint: usage.hint)
            }
        } catch {
            status = report(error, usage)
        }
        StatusLine.end()
        do throws(CommandFailure) {
            try StandardOutput.requireTaken()
        } catch {
            status = report(error, usage)
        }
        exit(status.rawValue)
    }

    /// The minimum width of help texts.
    private static let leastColumns = 40

    private static func perform(_ command: any ParsableCommand) async throws {
        // Only the task that runs the command accesses it.
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

    /// Reports an error unless it has been reported already.
    private static func report(_ error: any Error, _ usage: UsageMistake) -> ExitStatus {
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
        let code = usage.root.exitCode(for: error)
        if code.isSuccess {  // --help, --version, a completion script
            _ = StandardOutput.write((usage.root.fullMessage(for: error) + "\n").utf8)
            return .done
        }
        guard code == .validationFailure else {
            StandardError.complain(error)
            return .unavailable
        }
        let message = usage.root.message(for: error)
        return refuse(usage.better(than: message) ?? message, hint: usage.hint)
    }

    private static func refuse(_ message: String, hint: String) -> ExitStatus {
        StatusLine.end()
        StandardError.write("error: \(Complaint.text(wrongUse: message))")
        StandardError.write("\(hint)")
        return .wrongUse
    }
}
