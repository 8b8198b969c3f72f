import Glibc

/// How many files and sockets the system lets this process have open.
enum DescriptorLimit {
    /// What the process needs besides its connections.
    private static let spare = 64

    /// Raises the limit as far as it goes; throws if that is not enough for so many sockets.
    static func require(sockets: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let needed = sockets + spare
        guard limit.rlim_max >= rlim_t(needed) else {
            throw CommandFailure(
                .unavailable,
                "\(needed) file descriptors are needed, and the hard limit is \(limit.rlim_max) (ulimit -Hn)")
        }
    }
}
