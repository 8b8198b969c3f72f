// Shared code of the benchmarks.
import Foundation
public import PusherSwift

/// The CPU time of this process, user and system, of all threads.
public func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The time in nanoseconds, on a clock shared by all processes.
public func nanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The resident memory of this process.
public func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

/// Raises the limit of open descriptors as far as the system allows.
public func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Command line arguments as pairs of name and value.
public struct Arguments: Sendable {
    private let values: [String: String]

    /// Parses the arguments of this process.
    public init() {
        let words = Array(CommandLine.arguments.dropFirst())
        var values: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { values[words[index]] = words[index + 1] }
        self.values = values
    }

    /// The value, or `nil` if it is missing.
    public subscript(name: String) -> String? { values[name] }

    /// Returns a number; if it is missing and has no default, ends the process.
    public func number(_ name: String, default: Int? = nil) -> Int {
        guard let number = values[name].flatMap({ Int($0) }) ?? `default` else {
            FileHandle.standardError.write(Data("\(name) is missing\n".utf8))
            exit(64)
        }
        return number
    }

    /// Options for the server at `port` on this machine.
    public var options: PusherClientOptions {
        var options = PusherClientOptions(
            host: .host("127.0.0.1"), port: number("port"), useTLS: values["ca-file"] != nil)
        options.caFile = values["ca-file"]
        options.proxy = ""
        if values["delivery"] == "inline" { options.callbackQueue = .inline }
        return options
    }
}

/// Prints the figures as one line of JSON, and ends the process.
public func finish(_ figures: [String: Double]) -> Never {
    let text = figures.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    print("{\(text)}")
    exit(0)
}
