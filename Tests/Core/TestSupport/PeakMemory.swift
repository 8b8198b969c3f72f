import Foundation

/// The bytes that this process has had in memory at most, and has never given back in between (proc(5), `VmHWM`).
///
/// Only a process of its own tells anything: call this in an exit test, where no other test runs beside.
/// `getrusage` will not do there, because a new process inherits the peak of the one that starts it.
package func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let words = line?.split(separator: " "), words.count > 1, let kibibytes = Int(words[1]) else {
        throw CocoaError(.fileReadCorruptFile)
    }
    return kibibytes << 10
}
