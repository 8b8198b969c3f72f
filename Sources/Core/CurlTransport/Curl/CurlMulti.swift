import Basics
import CLibcurl
import CLinux
import Glibc
import Transport

/// libcurl's multi interface on the event loop: libcurl requests descriptors and a timer, and the loop reports when
/// they are due (libcurl, “multi_socket”).
@NetworkActor
final class CurlMulti {
    static let shared = CurlMulti()

    private let raw: UnsafeMutableRawPointer
    private var watches: [curl_socket_t: DescriptorWatch] = [:]
    private var timer: NetworkTimer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Addresses that have not answered yet, by descriptor.
    private var attempts: [curl_socket_t: Attempt] = [:]
    /// The descriptors that running transfers were last seen waiting for.
    private var descriptors: [UnsafeMutableRawPointer: curl_socket_t] = [:]
    private var networkObservation: NetworkMonitor.Observation?
    /// When the system's route last changed. Connections that have been idle since before that may be dead.
    private(set) var networkChangedAt: MonotonicInstant?

    private struct Transfer {
        let onDone: @NetworkActor (CURLcode) -> Void
        /// `nil` if it opens no connection.
        var shares: AddressShares?
    }

    private struct Attempt {
        let handle: UnsafeMutableRawPointer
        /// Ends its share of the time. Nil if there is no other address.
        var timer: NetworkTimer?
    }

    /// The maximum number of idle connections kept for reuse.
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

    /// Starts a transfer. `onDone` is called once and must remove the transfer, unless it is removed before.
    ///
    /// - Parameter connectLimit: The time for all addresses of the host together. The caller must end the transfer when
    ///   it is over: libcurl's own limit does not end a name resolution that hangs.
    func add(
        _ handle: EasyHandle, connectLimit: Duration, onDone: @escaping @NetworkActor (CURLcode) -> Void
    ) throws(TransportError) {
        // Slightly longer, so that libcurl is not the one to report the timeout.
        let milliseconds = (connectLimit.bounded + .seconds(1)).wholeNanoseconds / 1_000_000
        try handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(milliseconds, Int64(Int32.max))))
        transfers[handle.raw] = Transfer(onDone: onDone, shares: AddressShares(limit: connectLimit, now: .now))
        curl_multi_add_handle(raw, handle.raw)
    }

    /// Ends a running transfer or releases a finished one. Closes the connection of a `CONNECT_ONLY` transfer. Don't
    /// call this inside a callback of libcurl.
    func remove(_ handle: EasyHandle) {
        transfers[handle.raw] = nil
        descriptors[handle.raw] = nil
        curl_multi_remove_handle(raw, handle.raw)
    }

    /// Ends a running transfer or releases a finished one, without waiting for a name resolution that hangs. libcurl
    /// would wait for its thread, and block everything else on this thread. Since 7.87 an option prevents that, but not
    /// all supported versions have it.
    ///
    /// - Parameter owner: The object that libcurl's callbacks refer to, retained while they may be called.
    func abandon(_ handle: EasyHandle, owner: AnyObject) {
        guard transfers[handle.raw] != nil, tcpInfo(of: handle) == nil else { return remove(handle) }
        handle.abandon()
        transfers[handle.raw] = Transfer { [weak self] _ in
            self?.remove(handle)
            withExtendedLifetime(owner) {}
        }
    }

    /// Whether a running transfer uses a connection opened by an earlier one on which the peer's system has not
    /// acknowledged all sent data. The connection may be dead.
    func seemsDead(_ handle: EasyHandle) -> Bool {
        guard let tcpInfo = tcpInfo(of: handle), tcpInfo.tcpi_unacked > 0 else { return false }
        return handle.info(CURLINFO_NUM_CONNECTS) == 0
    }

    /// Returns the system's information on the transfer's connection, or nil if it has none yet.
    private func tcpInfo(of handle: EasyHandle) -> tcp_info? {
        descriptors[handle.raw].flatMap { tcpInfo(of: $0) }
    }

    private func tcpInfo(of descriptor: curl_socket_t) -> tcp_info? {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let isTCP = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0
        return isTCP ? info : nil
    }

    // MARK: Addresses

    /// Called when libcurl tries an address. If it does not answer in time, the next one is tried.
    private func addressTried(_ descriptor: curl_socket_t, by handle: UnsafeMutableRawPointer) {
        guard transfers[handle]?.shares != nil, isConnecting(descriptor) else { return }
        var family: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &size)
        var attempt = Attempt(handle: handle)
        if let share = transfers[handle]?.shares?.next(family: family, now: .now) {
            attempt.timer = NetworkTimer { [weak self] in self?.shareIsOver(descriptor, family, of: handle) }
            attempt.timer?.set(.now + share)
        }
        attempts[descriptor] = attempt
    }

    private func shareIsOver(_ descriptor: curl_socket_t, _ family: Int32, of handle: UnsafeMutableRawPointer) {
        guard isConnecting(descriptor) else { return }
        transfers[handle]?.shares?.wasSilent(family: family)
        shutdown(descriptor, Int32(SHUT_RDWR))  // libcurl sees this as if the address had refused
    }

    /// Wakes libcurl: version 7.88 tries the next address only when it is called again, but schedules no such call.
    private func goOn(_ handle: UnsafeMutableRawPointer) {
        guard transfers[handle]?.shares != nil else { return }
        for action in [CURLPAUSE_RECV, CURLPAUSE_RECV_CONT] { curl_easy_pause(handle, action) }
    }

    private func isConnecting(_ descriptor: curl_socket_t) -> Bool {
        tcpInfo(of: descriptor).map { Int($0.tcpi_state) == TCP_SYN_SENT } ?? false
    }

    // MARK: Callbacks of libcurl

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
            attempts[descriptor] = nil
            return
        }
        if let watch = watches[descriptor] {
            watch.events = events
        } else {
            watches[descriptor] = DescriptorWatch(descriptor, events: events) { [weak self] ready in
                self?.act(on: descriptor, CurlMulti.selectMask(ready))
            }
            if let handle { addressTried(descriptor, by: handle) }
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
        let attempt = attempts[descriptor]
        var running: Int32 = 0
        curl_multi_socket_action(raw, descriptor, mask, &running)
        let hasFailed = attempt != nil && attempts[descriptor] == nil
        if attempt != nil, !hasFailed, !isConnecting(descriptor) { attempts[descriptor] = nil }
        var done: [(@NetworkActor (CURLcode) -> Void, CURLcode)] = []
        var unanswered: [UnsafeMutableRawPointer] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(raw, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let transfer = transfers[handle]
            else { continue }
            var result = curl_message_result(message)
            if result == CURLE_COULDNT_CONNECT, let shares = transfer.shares, shares.areSomeSilent {
                // After a redirect, the transfer cannot start over with its current host.
                if !EasyHandle.isRedirected(handle), transfers[handle]?.shares?.beginNextRound(now: .now) == true {
                    unanswered.append(handle)
                    continue
                }
                result = CURLE_OPERATION_TIMEDOUT
            }
            transfers[handle] = nil
            done.append((transfer.onDone, result))
        }
        for handle in unanswered {
            curl_multi_remove_handle(raw, handle)
            curl_multi_add_handle(raw, handle)
        }
        if hasFailed, let attempt { goOn(attempt.handle) }
        // Only now, because the handlers may add and remove transfers.
        for (onDone, result) in done { onDone(result) }
    }
}
