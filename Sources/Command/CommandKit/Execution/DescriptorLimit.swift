package import Glibc

/// The number of files and sockets that the system lets this process open.
package enum DescriptorLimit {
    /// The number of descriptors needed in addition to connections.
    private static let spare = 64

    /// Raises the limit to the minimum that every command needs, because event loops cannot run without it. Throws if
    /// the system refuses.
    package static func requireSome() throws(CommandFailure) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // No further, because child processes inherit the limit.
        if limit.rlim_cur < rlim_t(spare) { try require(sockets: 0) }
    }

    /// Raises the limit as far as possible.
    ///
    /// - Returns: The new limit.
    @discardableResult
    package static func raise() -> rlim_t {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit.rlim_max
    }

    /// Raises the limit as far as possible; throws if that is not enough for this number of sockets.
    package static func require(sockets: Int) throws(CommandFailure) {
        let (limit, needed) = (raise(), sockets + spare)
        guard limit >= rlim_t(needed) else {
            throw CommandFailure(
                .unavailable, "\(needed) file descriptors are needed, and the hard limit is \(limit) (ulimit -Hn)")
        }
    }
}
