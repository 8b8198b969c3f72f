package import Glibc

/// How many files and sockets the system lets this process have open.
package enum DescriptorLimit {
    /// Descriptors that the process needs besides its connections.
    private static let spare = 64

    /// Raises the limit to what any command needs; throws if the system does not let it. Event loops cannot do without.
    package static func requireSome() throws(CommandFailure) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // Not further: what the command starts would inherit it.
        if limit.rlim_cur < rlim_t(spare) { try require(sockets: 0) }
    }

    /// Raises the limit as far as it goes.
    ///
    /// - Returns: The limit from now on.
    @discardableResult
    package static func raise() -> rlim_t {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit.rlim_max
    }

    /// Raises the limit as far as it goes; throws if that is not enough for so many sockets.
    package static func require(sockets: Int) throws(CommandFailure) {
        let (limit, needed) = (raise(), sockets + spare)
        guard limit >= rlim_t(needed) else {
            throw CommandFailure(
                .unavailable, "\(needed) file descriptors are needed, and the hard limit is \(limit) (ulimit -Hn)")
        }
    }
}
