import Basics
import CLibcurl
import CLinux
import Glibc
import Transport

/// libcurl's multi interface on the event loop: libcurl says which descriptors and which timer it wants, the loop says
/// when they are due (libcurl, “multi_socket”).
@NetworkActor
final class CurlMulti {
    static let shared = CurlMulti()

    private let raw: UnsafeMutableRawPointer
    private var watches: [curl_socket_t: DescriptorWatch] = [:]
    private var timer: NetworkTimer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Addresses that have not answered yet, by descriptor.
    private var attempts: [curl_socket_t: Attempt] = [:]
    /// What the transfers under way were last seen to wait for.
    private var descriptors: [UnsafeMutableRawPointer: curl_socket_t] = [:]
    private var networkObservation: NetworkMonitor.Observation?
    /// When the system's way out changed last: connections that nobody has used since may be dead.
    private(set) var networkChangedAt: MonotonicInstant?

    private struct Transfer {
        let onDone: @NetworkActor (CURLcode) -> Void
        /// Nil: it opens no connection.
        var shares: AddressShares?
    }

    private struct Attempt {
        let handle: UnsafeMutableRawPointer
        /// Ends its share. Nil: there is no other address.
        var timer: NetworkTimer?
    }

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
    ///
    /// - Parameter connectLimit: What the addresses of the host have together to answer. Whoever starts the transfer ends
    ///   it when that is over: libcurl's own limit does not end a name resolution that hangs.
    func add(
        _ handle: EasyHandle, connectLimit: Duration, onDone: @escaping @NetworkActor (CURLcode) -> Void
    ) throws(TransportError) {
        // A little more, so that it is not libcurl which tells of the end.
        let milliseconds = (connectLimit.bounded + .seconds(1)).wholeNanoseconds / 1_000_000
        try handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(milliseconds, Int64(Int32.max))))
        transfers[handle.raw] = Transfer(onDone: onDone, shares: AddressShares(limit: connectLimit, now: .now))
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
        transfers[handle.raw] = Transfer { [weak self] _ in
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
        descriptors[handle.raw].flatMap { tcpInfo(of: $0) }
    }

    private func tcpInfo(of descriptor: curl_socket_t) -> tcp_info? {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let isTCP = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0
        return isTCP ? info : nil
    }

    // MARK: Addresses

    /// libcurl tries an address: unless it answers in its time, the next one is tried.
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
        shutdown(descriptor, Int32(SHUT_RDWR))  // to libcurl as if the address had refused
    }

    /// libcurl 7.88 turns to the next address when it is called the next time, and waits for nothing that would make it be.
    private func goOn(_ handle: UnsafeMutableRawPointer) {
        guard transfers[handle]?.shares != nil else { return }
        for action in [CURLPAUSE_RECV, CURLPAUSE_RECV_CONT] { curl_easy_pause(handle, action) }
    }

    private func isConnecting(_ descriptor: curl_socket_t) -> Bool {
        tcpInfo(of: descriptor).map { Int($0.tcpi_state) == TCP_SYN_SENT } ?? false
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
                // After a redirection, the transfer cannot begin with the host that it is at.
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
        // Only now: what is called may add and remove transfers.
        for (onDone, result) in done { onDone(result) }
    }
}
