import Basics
import CLibcurl
import CLinux
import Foundation
package import Transport

/// One WebSocket connection: libcurl opens it (name resolution, proxy, TLS), and ``WebSocketMachine`` speaks the
/// protocol.
@NetworkActor
package final class WebSocketConnection {
    package enum Event {
        /// libcurl opened the connection or failed: the steps it reached. The first event.
        case reached(ConnectionTimes)
        /// The handshake succeeded.
        case opened
        /// The messages of one read in order, or a part of them after decompression. Empty for control frames or a part
        /// of a message, which show that the peer is alive.
        ///
        /// - Parameters:
        ///   - bytes: The number of bytes read; 0 if these messages were in an earlier read.
        ///   - isMoreToRead: Whether more is likely to follow at once.
        case received(WebSocketMessages, bytes: Int, isMoreToRead: Bool)
        /// The peer answered ``WebSocketConnection/ping()``.
        case pong
        /// The connection ended. The last event, reported once.
        case closed(WebSocketClosure)
    }

    private enum State {
        case idle
        case connecting(EasyHandle)
        case connected(ByteStream, DescriptorWatch)
        /// Closed or dropped: nothing more is reported.
        case closed
    }

    /// The maximum size of one read in bytes. A TLS record has at most 16 KiB, while a busy plain connection can fill
    /// it.
    private static let readSize = 64 << 10
    /// The limits of reads, time and inflated bytes per turn, after which other connections get theirs.
    private static let readsInARow = 16
    private static let turnLength = Duration.milliseconds(5)
    private static let inflatedBytesPerTurn = WebSocketMachine.inflatedBytesPerCall
    /// The chunks of the last busy reads, kept until a connection ends. Each new chunk frees an old one here, so that
    /// the next read reuses its memory. Memory freed by other threads tends to go back to the system, at the price of
    /// page faults.
    private static var lastChunks = noChunks
    private static let noChunks = [[UInt8]](repeating: [], count: 16)
    private static var nextChunk = 0
    private static let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 16)

    private let request: WebSocketRequest
    private let options: NetworkOptions
    private let handler: @NetworkActor (Event) -> Void
    private var state = State.idle
    private var machine: WebSocketMachine?
    private var random = SystemRandomNumberGenerator()
    /// The bytes that the kernel has not accepted yet.
    private var unsent: ArraySlice<UInt8> = []
    /// The end of the connection, while the last bytes are still being written.
    private var ending: WebSocketClosure?
    /// The reason why nothing can be written any more. Data from the peer is still read, since it may contain a close
    /// frame.
    private var writeFailure: TransportError?
    private var closeTimer: NetworkTimer?
    private var isReadScheduled = false
    /// Whether the last read filled a good part of its buffer.
    private var isBusy = false

    /// - Parameter handler: Called on the I/O thread; it may call any method of the connection.
    package init(
        _ request: WebSocketRequest, options: NetworkOptions, handler: @escaping @NetworkActor (Event) -> Void
    ) {
        self.request = request
        self.options = options
        self.handler = handler
    }

    isolated deinit {
        // Doesn't wait for a name look-up, as the handle's own end would.
        if case .connecting(let handle) = state { CurlMulti.shared.abandon(handle, owner: handle) }
    }

    /// While true, nothing is read, and TCP holds back the peer.
    package var isReadingPaused = false {
        didSet {
            guard isReadingPaused != oldValue else { return }
            watchForWhatIsNeeded()
            if isReading { scheduleRead() }  // TLS may hold bytes that epoll does not see
        }
    }

    // MARK: Opening

    /// Opens the connection. Call this once.
    package func start() {
        do throws(TransportError) {
            machine = try WebSocketMachine(request, using: &random)
            let url = "http" + request.url.dropFirst(2)  // ws → http, wss → https
            let handle = try EasyHandle(url: url, options: options)
            try handle.set(CURLOPT_CONNECT_ONLY, 1)
            try handle.isolateConnection()
            try handle.set(CURLOPT_HTTP_VERSION, 2)  // CURL_HTTP_VERSION_1_1: the handshake is an upgrade of it
            try handle.set(CURLOPT_HTTPPROXYTUNNEL, 1)
            try CurlMulti.shared.add(handle, connectLimit: request.connectTimeout) { [weak self] in self?.connected($0)
            }
            state = .connecting(handle)
        } catch {
            NetworkActor.execute { self.finish(WebSocketClosure(code: 1006, error: error)) }
        }
    }

    private func connected(_ result: CURLcode) {
        guard case .connecting(let handle) = state else { return }
        handler(.reached(handle.times))
        guard case .connecting = state else { return }
        do throws(TransportError) {
            guard result == CURLE_OK else {
                CurlMulti.shared.remove(handle)
                throw handle.error(for: result)
            }
            let stream = try ByteStream(takingOver: handle, isPlain: isPlain)
            let watch = DescriptorWatch(stream.descriptor, events: EPOLLIN.rawValue) { [weak self] in self?.ready($0) }
            state = .connected(stream, watch)
        } catch {
            return finish(WebSocketClosure(code: 1006, error: error))
        }
        flush()
    }

    /// Whether the descriptor carries the WebSocket's bytes unencrypted: no TLS to the server or a proxy.
    private var isPlain: Bool {
        let proxies = options.proxy.map { [$0] } ?? Self.environmentProxies
        return request.url.hasPrefix("ws:") && !proxies.contains { $0.lowercased().hasPrefix("https:") }
    }

    private static let environmentProxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        .compactMap { (name: String) in getenv(name).map { String(cString: $0) } }

    // MARK: Receiving

    /// While closing, reads in spite of a pause, to get the peer's answer.
    private var isReading: Bool { (!isReadingPaused || closeTimer != nil) && ending == nil }

    private func ready(_ events: UInt32) {
        if events & EPOLLOUT.rawValue != 0 { flush() }
        if events & ~EPOLLOUT.rawValue != 0, !isReadScheduled { read() }
    }

    /// Reads and decodes as much as one turn allows.
    private func read() {
        let end = MonotonicInstant.now + Self.turnLength
        var inflated = 0
        for _ in 0..<Self.readsInARow {
            guard case .connected(let stream, _) = state, isReading else { return }
            if machine?.hasRest == true {
                inflated += resume()
            } else {
                let (outcome, chunk) = readChunk(from: stream)
                switch outcome {
                case .bytes(let count):
                    isBusy = count >= Self.readSize / 4
                    inflated += receive(chunk)
                    // A plain descriptor that returned less than requested is empty; epoll reports when there is more.
                    if count < Self.readSize, stream.isPlain, writeFailure == nil, machine?.hasRest != true { return }
                case .wouldBlock:
                    if let writeFailure { ended(writeFailure) }
                    return
                case .ended(let error):
                    return ended(writeFailure ?? error)
                }
            }
            if inflated >= Self.inflatedBytesPerTurn || .now >= end { break }
        }
        scheduleRead()
    }

    /// A busy connection reads into memory that its messages keep. One with little data reads into a shared buffer,
    /// from which the data is copied.
    private func readChunk(from stream: ByteStream) -> (ByteStream.Outcome, [UInt8]) {
        var outcome = ByteStream.Outcome.wouldBlock
        guard isBusy else {
            outcome = stream.read(into: Self.buffer)
            guard case .bytes(let count) = outcome else { return (outcome, []) }
            return (outcome, Array(Self.buffer[..<count]))
        }
        Self.nextChunk = (Self.nextChunk + 1) % Self.lastChunks.count
        Self.lastChunks[Self.nextChunk] = []
        let chunk = [UInt8](unsafeUninitializedCapacity: Self.readSize) { memory, count in
            outcome = stream.read(into: UnsafeMutableRawBufferPointer(memory))
            if case .bytes(let read) = outcome { count = read }
        }
        Self.lastChunks[Self.nextChunk] = chunk
        // A few messages must not keep the whole chunk in memory.
        return (outcome, chunk.count < Self.readSize / 4 ? chunk.withUnsafeBytes { Array($0) } : chunk)
    }

    private func ended(_ error: TransportError?) {
        if let closure = machine?.ended(error) { finish(closure) }
    }

    private func scheduleRead() {
        guard !isReadScheduled else { return }
        isReadScheduled = true
        NetworkActor.execute { [weak self] in
            self?.isReadScheduled = false
            self?.read()
        }
    }

    /// - Returns: The number of inflated bytes.
    private func receive(_ chunk: [UInt8]) -> Int {
        let wasInHandshake = machine?.isInHandshake == true
        guard let received = machine?.receive(chunk, using: &random) else { return 0 }
        // Any server answers a handshake. That is no message, and no sign of life of the protocol above.
        tell(received, byteCount: wasInHandshake && received.messages.isEmpty ? nil : chunk.count)
        return received.inflatedByteCount
    }

    /// Like ``receive(_:)``, but for the rest of an earlier read.
    private func resume() -> Int {
        guard let received = machine?.resume(using: &random) else { return 0 }
        tell(received, byteCount: 0)
        return received.inflatedByteCount
    }

    /// - Parameter byteCount: The number of bytes received; nil if they don't count as received data.
    private func tell(_ received: WebSocketMachine.Received, byteCount: Int?) {
        flush()
        if received.isOpened { handler(.opened) }
        if case .closed = state { return }
        if let byteCount {
            let isMoreToRead = byteCount == Self.readSize || machine?.hasRest == true
            handler(.received(received.messages, bytes: byteCount, isMoreToRead: isMoreToRead))
        }
        if case .closed = state { return }
        if received.hasPong { handler(.pong) }
        if case .closed = state { return }
        if let end = received.end {
            ending = end
            flush()
        }
    }

    // MARK: Sending

    /// Sends a text message. Does nothing before ``Event/opened`` or after the end.
    ///
    /// - Throws: An error if more bytes are already waiting than the request's `maximumSendQueueSize` allows.
    package func send(text: [UInt8]) throws(TransportError) {
        try checkSendQueue(adding: text.count)
        machine?.send(text: text, using: &random)
        scheduleFlush()
    }

    /// Sends a binary message, under the same conditions as ``send(text:)``.
    package func send(binary: [UInt8]) throws(TransportError) {
        try checkSendQueue(adding: binary.count)
        machine?.send(binary: binary, using: &random)
        scheduleFlush()
    }

    package var hasUnsentBytes: Bool { !unsent.isEmpty || (machine?.outputCount ?? 0) > 0 }

    private func checkSendQueue(adding count: Int) throws(TransportError) {
        guard unsent.count + (machine?.outputCount ?? 0) + count <= request.maximumSendQueueSize else {
            throw TransportError(
                .tooLarge,
                "more than \(request.maximumSendQueueSize) bytes wait to be sent (maximumSendQueueSize): the peer does not read"
            )
        }
    }

    package func ping() {
        machine?.ping(using: &random)
        scheduleFlush()
    }

    /// Starts the closing handshake: the peer has the request's `closeTimeout` to answer. The end is reported.
    package func close(code: UInt16, reason: String) {
        switch state {
        case .idle, .closed: return
        case .connecting: finish(WebSocketClosure(code: code, reason: reason))
        case .connected:
            guard machine?.close(code: code, reason: reason, using: &random) == true else {
                return finish(WebSocketClosure(code: code, reason: reason))
            }
            startCloseTimer()
            flush()
            scheduleRead()
        }
    }

    /// Closes the descriptor at once. Nothing more is reported.
    package func drop() {
        release()
    }

    private var isFlushScheduled = false

    /// Collects the frames of one turn into one write.
    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        NetworkActor.execute { [weak self] in
            self?.isFlushScheduled = false
            self?.flush()
        }
    }

    private func flush() {
        guard case .connected(let stream, _) = state else { return }
        if writeFailure != nil {
            if let ending { finish(ending) }
            return
        }
        takeOutput()
        while !unsent.isEmpty {
            switch stream.write(unsent) {
            case .bytes(let count):
                unsent = unsent.dropFirst(count)
                guard unsent.isEmpty else { continue }
                machine?.released(using: &random)
                takeOutput()
            case .wouldBlock:
                machine?.heldBack()
                if ending != nil { startCloseTimer() }
                return watchForWhatIsNeeded()
            case .ended(let error):
                if let ending { return finish(ending) }
                writeFailure = error
                unsent = []
                watchForWhatIsNeeded()
                if isReading { scheduleRead() }
                return
            }
        }
        unsent = []
        watchForWhatIsNeeded()
        if let ending { finish(ending) }
    }

    private func takeOutput() {
        if let output = machine?.takeOutput(), !output.isEmpty { unsent += output }
    }

    private func watchForWhatIsNeeded() {
        guard case .connected(_, let watch) = state else { return }
        watch.events = (isReading ? EPOLLIN.rawValue : 0) | (unsent.isEmpty ? 0 : EPOLLOUT.rawValue)
    }

    // MARK: The end

    private func startCloseTimer() {
        guard closeTimer == nil else { return }
        closeTimer = NetworkTimer { [weak self] in
            guard let self else { return }
            finish(
                ending
                    ?? WebSocketClosure(
                        code: 1006, error: TransportError(.timedOut, "the peer did not answer a close frame")))
        }
        closeTimer?.set(.now + request.closeTimeout)
    }

    private func finish(_ closure: WebSocketClosure) {
        if case .closed = state { return }
        release()
        handler(.closed(closure))
    }

    private func release() {
        switch state {
        case .idle, .closed: break
        case .connecting(let handle): CurlMulti.shared.abandon(handle, owner: handle)
        case .connected(let stream, let watch):
            watch.cancel()
            stream.close()
        }
        state = .closed
        Self.lastChunks = Self.noChunks
        closeTimer = nil
        unsent = []
    }
}
