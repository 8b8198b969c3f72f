import Foundation

/// Returns the peak memory of this process in bytes (proc(5), `VmHWM`).
///
/// Call it in an exit test, where no other test shares the process. `getrusage` does not work there, because a new
/// process inherits its parent's peak.
package func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let words = line?.split(separator: " "), words.count > 1, let kibibytes = Int(words[1]) else {
        throw CocoaError(.fileReadCorruptFile)
    }
    return kibibytes << 10
}
