// What the benchmarks share.
import Foundation
public import PusherSwift

/// CPU time of this process, user and system, all threads.
public func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Nanoseconds on the clock that all processes share.
public func nanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Memory of this process that is in RAM.
public func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

/// As many descriptors as the system lets us have.
public func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// What the command line says, as pairs of name and value.
public struct Arguments: Sendable {
    private let values: [String: String]

    /// Of this process.
    public init() {
        let words = Array(CommandLine.arguments.dropFirst())
        var values: [String: String] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { values[words[index]] = words[index + 1] }
        self.values = values
    }

    /// The value, or nil if it was not given.
    public subscript(name: String) -> String? { values[name] }

    /// A number; without it and without a default the process ends.
    public func number(_ name: String, default: Int? = nil) -> Int {
        guard let number = values[name].flatMap({ Int($0) }) ?? `default` else {
            FileHandle.standardError.write(Data("\(name) is missing\n".utf8))
            exit(64)
        }
        return number
    }

    /// Options for the server at `port` of this machine.
    public var options: PusherClientOptions {
        var options = PusherClientOptions(
            host: .host("127.0.0.1"), port: number("port"), useTLS: values["ca-file"] != nil)
        options.caFile = values["ca-file"]
        options.proxy = ""
        if values["delivery"] == "inline" { options.callbackQueue = .inline }
        return options
    }
}

/// Says the figures as one line of JSON, and ends the process.
public func finish(_ figures: [String: Double]) -> Never {
    let text = figures.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    print("{\(text)}")
    exit(0)
}
