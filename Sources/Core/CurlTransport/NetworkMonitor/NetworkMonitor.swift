import Basics
import CLinux
import Glibc

/// Watches the system's links, addresses and routes over rtnetlink, so that a lost network is noticed at once and not
/// after a timeout. The counterpart of Reachability on Apple's systems.
///
/// If the kernel does not allow it (some sandboxes), it reports nothing and timeouts do the work.
@NetworkActor
package final class NetworkMonitor {
    package static let shared = NetworkMonitor()

    package enum Change: Hashable, Sendable {
        /// The last default route is gone.
        case lost
        /// A default route is available again.
        case returned
        /// The default route changed: connections over the old one may be dead.
        case changed
    }

    /// An observation, which ends when this object is released.
    package final class Observation: Sendable {
        private let onEnd: @Sendable () -> Void

        fileprivate init(_ onEnd: @escaping @Sendable () -> Void) {
            self.onEnd = onEnd
        }

        deinit {
            onEnd()
        }
    }

    private var observers: [Int: @NetworkActor (Change) -> Void] = [:]
    private var lastObserver = 0
    private var socket: Int32 = -1
    private var watch: DescriptorWatch?
    private var routes = RouteTable()
    private var settleTimer: NetworkTimer?
    private var isRefreshing = false

    /// The messages of one change arrive in bursts; only the final state matters.
    private static let settleTime = Duration.milliseconds(50)

    private init() {
        settleTimer = NetworkTimer { [weak self] in self?.refresh() }
        open()
    }

    package func observe(_ observer: @escaping @NetworkActor (Change) -> Void) -> Observation {
        lastObserver += 1
        let id = lastObserver
        observers[id] = observer
        return Observation { NetworkActor.execute { NetworkMonitor.shared.observers[id] = nil } }
    }

    private func open() {
        socket = Glibc.socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), NETLINK_ROUTE)
        guard socket >= 0 else { return }
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard bound == 0 else {
            close(socket)
            return
        }
        watch = DescriptorWatch(socket, events: EPOLLIN.rawValue) { [weak self] _ in self?.read() }
        refresh()
    }

    /// Asks the kernel for all routes, then for all addresses. Each answer ends with `NLMSG_DONE`.
    private func refresh() {
        guard !isRefreshing else { return }
        routes.beginRefresh()
        ask(RouteTable.routeRequest)
    }

    private func ask(_ request: [UInt8]) {
        isRefreshing = send(socket, request, request.count, 0) >= 0
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno == ENOBUFS {  // messages were lost: query everything
                isRefreshing = false
                settle()
                continue
            }
            guard count > 0 else { return }
            let news = buffer.withUnsafeBytes { routes.read(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            apply(news)
        }
    }

    private func apply(_ news: RouteTable.News) {
        switch news {
        case .nothing: break
        case .somethingChanged: settle()
        case .routesRead: ask(RouteTable.addressRequest)
        case .refreshed(let change):
            isRefreshing = false
            if let change { for observer in observers.values { observer(change) } }
        }
    }

    private func settle() {
        settleTimer?.set(MonotonicInstant.now + Self.settleTime)
    }
}
