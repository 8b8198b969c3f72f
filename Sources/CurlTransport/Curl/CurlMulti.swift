import CLibcurl
import CLinux
import Glibc
import Basics

/// libcurl's multi interface on the event loop: libcurl says which descriptors and which timer it wants, the loop says
/// when they are due (libcurl, “multi_socket”).
@NetworkActor
final class CurlMulti {
    static let shared = CurlMulti()

    private let raw: UnsafeMutableRawPointer
    private var watches: [curl_socket_t: DescriptorWatch] = [:]
    private var timer: NetworkTimer?
    private var transfers: [UnsafeMutableRawPointer: @NetworkActor (CURLcode) -> Void] = [:]
    /// What the transfers under way were last seen to wait for.
    private var descriptors: [UnsafeMutableRawPointer: curl_socket_t] = [:]
    private var networkObservation: NetworkMonitor.Observation?
    /// When the system's way out changed last: connections that nobody has used since may be dead.
    private(set) var networkChangedAt: MonotonicInstant?

    /// Idle connections kept for reuse.
    private static let idleConnections = 64

    private init() {
        guard EasyHandle.isInitialized, let raw = curl_multi_init() else { fatalError("libcurl is out of memory") }
        self.raw = raw
        timer = NetworkTimer { [weak self] in self?.act(on: CURL_SOCKET_TIMEOUT, 0) }
        let context = Unmanaged.passUnretained(self).toOpaque()  // lives as long as the process
        curl_multi_setopt_pointer(raw, CURLMOPT_SOCKETDATA, context)
        curl_multi_setopt_pointer(raw, CURLMOPT_TIMERDATA, context)
        curl_multi_setopt_socket_callback(raw) { handle, descriptor, what, context, _ in
            nonisolated(unsafe) let handle = handle  // stays on this thread
            return CurlMulti.from(context) { $0.watch(descriptor, what, for: handle) }
        }
        curl_multi_setopt_timer_callback(raw) { _, milliseconds, context in
            CurlMulti.from(context) { $0.setTimer(milliseconds) }
        }
        curl_multi_setopt_long(raw, CURLMOPT_MAXCONNECTS, Self.idleConnections)
        networkObservation = NetworkMonitor.shared.observe { [weak self] change in
            switch change {
            case .lost: break
            case .returned, .changed: self?.networkChangedAt = .now
            }
        }
    }

    /// Starts a transfer. `onDone` is called once, and is to remove it, unless the transfer is removed before.
    func add(_ handle: EasyHandle, onDone: @escaping @NetworkActor (CURLcode) -> Void) {
        transfers[handle.raw] = onDone
        curl_multi_add_handle(raw, handle.raw)
    }

    /// Ends a transfer that is under way, or lets go of one that is done. The connection of a `CONNECT_ONLY` transfer is
    /// closed. Not to be called from inside a callback of libcurl.
    func remove(_ handle: EasyHandle) {
        transfers[handle.raw] = nil
        descriptors[handle.raw] = nil
        curl_multi_remove_handle(raw, handle.raw)
    }

    /// Ends a transfer that is under way, or lets go of one that is done, without waiting for a name resolution that hangs.
    /// libcurl would wait for its thread, and all else on this thread with it; since 7.87 there is an option against that,
    /// but not for all that we support.
    ///
    /// - Parameter owner: What libcurl's callbacks refer to; kept as long as they may come.
    func abandon(_ handle: EasyHandle, owner: AnyObject) {
        guard transfers[handle.raw] != nil, tcpInfo(of: handle) == nil else { return remove(handle) }
        handle.abandon()
        transfers[handle.raw] = { [weak self] _ in
            self?.remove(handle)
            withExtendedLifetime(owner) {}
        }
    }

    /// Whether a transfer under way goes over a connection that an earlier one has opened, and the peer's system has not
    /// confirmed all that was sent: the connection may be dead.
    func seemsDead(_ handle: EasyHandle) -> Bool {
        guard let tcpInfo = tcpInfo(of: handle), tcpInfo.tcpi_unacked > 0 else { return false }
        return handle.info(CURLINFO_NUM_CONNECTS) == 0
    }

    /// What the system knows of the transfer's connection; nil if it has none yet.
    private func tcpInfo(of handle: EasyHandle) -> tcp_info? {
        guard let descriptor = descriptors[handle.raw] else { return nil }
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let isTCP = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0
        return isTCP ? info : nil
    }

    // MARK: What libcurl wants

    nonisolated private static func from(
        _ context: UnsafeMutableRawPointer?, _ body: @NetworkActor (CurlMulti) -> Void
    ) -> Int32 {
        nonisolated(unsafe) let context = context  // stays on this thread: libcurl calls on the one that drives it
        NetworkActor.assumeIsolated {
            if let context { body(Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()) }
        }
        return 0
    }

    private func watch(_ descriptor: curl_socket_t, _ what: Int32, for handle: UnsafeMutableRawPointer?) {
        if let handle, transfers[handle] != nil { descriptors[handle] = what == CURL_POLL_REMOVE ? nil : descriptor }
        let events: UInt32
        switch what {
        case CURL_POLL_IN: events = EPOLLIN.rawValue
        case CURL_POLL_OUT: events = EPOLLOUT.rawValue
        case CURL_POLL_INOUT: events = EPOLLIN.rawValue | EPOLLOUT.rawValue
        default:  // CURL_POLL_REMOVE
            watches.removeValue(forKey: descriptor)?.cancel()
            return
        }
        if let watch = watches[descriptor] {
            watch.events = events
        } else {
            watches[descriptor] = DescriptorWatch(descriptor, events: events) { [weak self] ready in
                self?.act(on: descriptor, CurlMulti.selectMask(ready))
            }
        }
    }

    private static func selectMask(_ ready: UInt32) -> Int32 {
        var mask: Int32 = 0
        if ready & EPOLLIN.rawValue != 0 { mask |= CURL_CSELECT_IN }
        if ready & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if ready & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_ERR }
        return mask
    }

    private func setTimer(_ milliseconds: Int) {
        timer?.set(milliseconds < 0 ? nil : .now + .milliseconds(milliseconds))
    }

    private func act(on descriptor: curl_socket_t, _ mask: Int32) {
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, mask, &running)
        var done: [(@NetworkActor (CURLcode) -> Void, CURLcode)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(raw, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let onDone = transfers[handle]
            else { continue }
            transfers[handle] = nil
            done.append((onDone, curl_message_result(message)))
        }
        // Only now: what is called may add and remove transfers.
        for (onDone, result) in done { onDone(result) }
    }
}
