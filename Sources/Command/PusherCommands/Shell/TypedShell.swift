import CommandKit
import Foundation

/// The interactive shell: commands start in the order of entry, and none waits for another's answer.
struct TypedShell: Sendable {
    let session: ShellSession
    let output: ShellOutput
    let console: ShellConsole

    func run() async throws {
        let signals = SignalWatch { [console] in console.leave() }
        defer { signals.cancel() }
        try console.open()
        await withDiscardingTaskGroup { group in
            for await line in console.lines {
                do {
                    guard let instruction = try ShellInstruction(line) else { continue }
                    if instruction == .quit { break }
                    guard let work = try session.begin(instruction), !work.isToldAnyway else { continue }
                    group.addTask { [output] in
                        do {
                            try await work.run()
                        } catch {
                            if !Task.isCancelled { output.complain(error) }
                        }
                    }
                } catch {
                    output.complain(error)
                }
            }
            group.cancelAll()
        }
        console.close()
    }
}
