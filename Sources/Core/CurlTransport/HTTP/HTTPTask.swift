import Basics
import CLibcurl
import Transport

/// A pending request. It continues without a reference to it.
@NetworkActor
package final class HTTPTask {
    private var handle: EasyHandle?
    private var completion: (@NetworkActor (Result<HTTPResponse, TransportError>) -> Void)?
    private let request: HTTPRequest
    private let options: NetworkOptions
    private var timer: NetworkTimer?
    private let began = MonotonicInstant.now
    private let deadline: MonotonicInstant
    /// libcurl reads from it while sending.
    private let requestBody: UnsafeMutableBufferPointer<UInt8>
    /// The number of bytes of `requestBody` that libcurl has read.
    private var sentBodyCount = 0
    private var fields = HTTPFields()
    private var body: [UInt8] = []
    private var headSize = 0
    private var receivedCount: Int64 = 0
    private var bodySource: BodySource?
    private var answerSink: AnswerSink?
    /// Called once, with the head of the response.
    private var answerFileTakes: (@Sendable (HTTPResponse) -> Bool)?
    private var progress: ProgressReport?
    /// The local error during a callback of libcurl.
    private var failure: TransportError?
    private var exceeded: String?

    /// The maximum size in bytes of all lines of all heads of a response. libcurl before 8.3 accepts any number of
    /// lines.
    private static let maximumHeadSize = 256 << 10
    /// The maximum idle time of a connection for requests that must not be sent twice. Most servers wait longer.
    private static let safeIdleTime = Duration.seconds(2)
    /// The time for a kept-alive connection to show that it is still alive.
    private static let keptConnectionTimeout = Duration.seconds(3)

    init(
        _ request: HTTPRequest, options: NetworkOptions, onProgress: (@Sendable (HTTPProgress) -> Void)?,
        completion: @escaping @NetworkActor (Result<HTTPResponse, TransportError>) -> Void
    ) {
        self.completion = completion
        self.request = request
        self.options = options
        deadline = .now + request.timeout
        progress = onProgress.map { ProgressReport($0) }
        answerFileTakes = request.answerFileTakes
        requestBody = .allocate(capacity: request.body.count)
        _ = requestBody.initialize(from: request.body)
        timer = NetworkTimer { [weak self] in self?.timerFired() }
        // If a server closes a connection while the request is on its way, it is unknown whether it processed the
        // request.
        let soonest = request.isSafeToRepeat ? nil : MonotonicInstant.now + (.zero - Self.safeIdleTime)
        start(
            since: [request.usesConnectionsSince, CurlMulti.shared.networkChangedAt, soonest].compactMap { $0 }.max())
        timer?.set(min(deadline, .now + Self.keptConnectionTimeout))
    }

    /// - Parameter since: Connections that have been idle since before this time are not reused.
    private func start(since: MonotonicInstant?) {
        answerSink = request.answerFile.map {
            AnswerSink($0, maximumSize: request.maximumFileSize ?? request.maximumBodySize)
        }
        do throws(TransportError) {
            let handle = try EasyHandle(url: request.url, options: options)
            try configure(handle, since: since)
            self.handle = handle
            try CurlMulti.shared.add(handle, connectLimit: deadline - .now) { self.done($0) }
        } catch {
            NetworkActor.execute { self.finish(.failure(error)) }
        }
    }

    /// libcurl's own timeouts would wait for a name resolution that hangs.
    private func timerFired() {
        guard let handle else { return }
        guard deadline <= .now else {
            timer?.set(deadline)
            if request.isSafeToRepeat, headSize == 0, CurlMulti.shared.seemsDead(handle) { startAgain() }
            return
        }
        guard let stall = request.stallTimeout, handle.isConnected else {
            return finish(.failure(handle.timedOut(after: request.timeout)))
        }
        // libcurl detects silence, but a peer that sends a byte now and then is not silent.
        let end = began + stall.bounded * 10 + .seconds(movedCount / Int64(HTTPRequest.slowestRate))
        guard end <= .now else {
            timer?.set(end)
            return
        }
        finish(.failure(handle.tooSlow(HTTPRequest.slowestRate)))
    }

    /// The number of bytes moved of both bodies.
    private var movedCount: Int64 {
        receivedCount + (bodySource?.position ?? Int64(sentBodyCount))
    }

    private func startAgain() {
        release()
        sentBodyCount = 0
        start(since: .now)
    }

    isolated deinit {
        requestBody.deallocate()
    }

    /// Cancels the request; its completion is not called any more.
    ///
    /// Over HTTP/2 the server notices late: libcurl (7.88 to 8.x) only queues the stream's reset and writes it with the
    /// next request on that connection. No call of libcurl flushes it, and a new connection would cost more than the
    /// rest of the response, which flow control limits.
    package func cancel() {
        completion = nil
        timer = nil
        release()
    }

    private func configure(_ handle: EasyHandle, since: MonotonicInstant?) throws(TransportError) {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw TransportError(.invalidRequest, "the HTTP method cannot be sent")
        }
        try handle.set(CURLOPT_HTTP_VERSION, 4)  // CURL_HTTP_VERSION_2TLS
        if let stall = request.stallTimeout {
            try handle.set(CURLOPT_LOW_SPEED_LIMIT, 1)
            try handle.set(CURLOPT_LOW_SPEED_TIME, Self.seconds(stall))
        }
        if let since { try handle.useConnections(since: since, now: .now) }
        if request.acceptsCompression { try handle.set(CURLOPT_ACCEPT_ENCODING, "") }
        if request.answerFile != nil { try handle.set(CURLOPT_BUFFERSIZE, 128 << 10) }
        try handle.set(CURLOPT_FOLLOWLOCATION, request.followsRedirects ? 1 : 0)
        try handle.set(CURLOPT_MAXREDIRS, 5)
        // CURLOPT_REDIR_PROTOCOLS, deprecated in favour of 7.85's: never redirect from https to http.
        try handle.set(CURLoption(rawValue: 182), request.url.lowercased().hasPrefix("https") ? 2 : 1 | 2)
        try setBody(handle)
        try handle.setFields(request.fields)
        try handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        if request.method == "HEAD" { try handle.set(CURLOPT_NOBODY, 1) }
        let context = Unmanaged.passUnretained(self).toOpaque()  // the transfer's closure keeps self
        try handle.set(CURLOPT_WRITEDATA, pointer: context)
        try handle.set(CURLOPT_WRITEFUNCTION) { data, size, count, context in
            HTTPTask.from(context, data, size * count) { $0.append(body: $1) }
        }
        try handle.set(CURLOPT_HEADERDATA, pointer: context)
        try handle.set(CURLOPT_HEADERFUNCTION) { data, size, count, context in
            HTTPTask.from(context, data, size * count) { $0.append(head: $1) }
        }
    }

    /// Limited to libcurl's range, which is 16 bits in some versions.
    private static func seconds(_ stall: Duration) -> Int {
        Int(min(max(stall.wholeNanoseconds / 1_000_000_000, 1), Int64(UInt16.max)))
    }

    private func setBody(_ handle: EasyHandle) throws(TransportError) {
        if let file = request.bodyFile {
            bodySource = try BodySource(file)
            progress?.toSend(file.bodySize)
            return try setBodyReader(handle, size: file.bodySize)
        }
        guard !request.body.isEmpty || request.method == "POST" else { return }
        guard request.isSafeToRepeat else {
            // Without a body there is nothing for libcurl to rewind.
            if request.body.isEmpty { try handle.set(CURLOPT_FRESH_CONNECT, 1) }
            return try setBodyReader(handle, size: Int64(request.body.count))
        }
        try handle.set(CURLOPT_POST, 1)
        try handle.set(CURLOPT_POSTFIELDSIZE, request.body.count)
        try handle.set(CURLOPT_POSTFIELDS, pointer: requestBody.baseAddress.map { UnsafeMutableRawPointer($0) })
    }

    /// Lets libcurl read the body as it goes. When a kept-alive connection breaks, it would send the request again on
    /// another one, whether or not the server processed it, unless it cannot rewind the body.
    private func setBodyReader(_ handle: EasyHandle, size: Int64) throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try handle.set(CURLOPT_POST, 1)
        try handle.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: size)
        try handle.set(CURLOPT_READDATA, pointer: context)
        try handle.set(CURLOPT_READFUNCTION) { data, size, count, context in
            HTTPTask.read(context, data, size * count)
        }
        guard request.isSafeToRepeat else { return }
        try handle.set(CURLOPT_SEEKDATA, pointer: context)
        try handle.set(
            CURLOPT_SEEKFUNCTION,
            seek: { context, offset, origin in
                HTTPTask.seek(context, to: Int64(offset), origin)
            })
    }

    // MARK: Callbacks of libcurl

    nonisolated private static func read(
        _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutablePointer<CChar>?, _ count: Int
    ) -> Int {
        guard let context else { return Int(CURL_READFUNC_ABORT) }
        // Both stay on this thread: libcurl calls back on the thread that drives it.
        nonisolated(unsafe) let task = context
        nonisolated(unsafe) let buffer = UnsafeMutableRawBufferPointer(start: data, count: count)
        return NetworkActor.assumeIsolated {
            Unmanaged<HTTPTask>.fromOpaque(task).takeUnretainedValue().fill(buffer)
        }
    }

    nonisolated private static func seek(
        _ context: UnsafeMutableRawPointer?, to offset: Int64, _ origin: Int32
    ) -> Int32 {
        guard let context, origin == 0 else { return CURL_SEEKFUNC_CANTSEEK }  // only SEEK_SET is used
        nonisolated(unsafe) let task = context
        return NetworkActor.assumeIsolated {
            Unmanaged<HTTPTask>.fromOpaque(task).takeUnretainedValue().bodySource?.seek(to: offset)
            return CURL_SEEKFUNC_OK
        }
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard handle != nil else { return Int(CURL_READFUNC_ABORT) }
        guard let bodySource else {
            let part = requestBody[sentBodyCount...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            sentBodyCount += part.count
            return part.count
        }
        do throws(TransportError) {
            let count = try bodySource.read(into: buffer)
            progress?.sent(bodySource.position)
            return count
        } catch {
            failure = error
            return Int(CURL_READFUNC_ABORT)
        }
    }

    nonisolated private static func from(
        _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutablePointer<CChar>?, _ count: Int,
        _ body: @NetworkActor (HTTPTask, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context else { return 0 }
        // Both stay on this thread: libcurl calls back on the thread that drives it.
        nonisolated(unsafe) let task = context
        nonisolated(unsafe) let bytes = UnsafeRawBufferPointer(start: data, count: count)
        let isTaken = NetworkActor.assumeIsolated {
            body(Unmanaged<HTTPTask>.fromOpaque(task).takeUnretainedValue(), bytes)
        }
        return isTaken ? count : count == 0 ? 1 : 0  // any other count ends the transfer
    }

    private func append(body bytes: UnsafeRawBufferPointer) -> Bool {
        guard handle != nil else { return false }  // no longer needed
        receivedCount += Int64(bytes.count)
        chooseSink()
        if let answerSink, let partStart = fileStart {
            do throws(TransportError) {
                try answerSink.write(bytes, from: partStart)
                progress?.received(bytes.count, of: fields["Content-Length"], after: partStart)
                return true
            } catch {
                failure = error
                return false
            }
        }
        progress?.received(bytes.count, of: fields["Content-Length"], after: 0)
        guard body.count + bytes.count <= request.maximumBodySize else {
            exceeded = "\(request.maximumBodySize) bytes (\(request.bodySizeOption))"
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Decides, once the head is complete, whether the body goes to the file.
    private func chooseSink() {
        guard let answerFileTakes, let handle else { return }
        self.answerFileTakes = nil
        if !answerFileTakes(HTTPResponse(status: handle.info(CURLINFO_RESPONSE_CODE), fields: fields)) {
            answerSink = nil
        }
    }

    /// The position of a successful response's body in the file; nil for other responses, and -1 for a partial response
    /// without a position.
    private var fileStart: Int64? {
        guard let status = handle?.info(CURLINFO_RESPONSE_CODE), (200..<300).contains(status) else { return nil }
        guard status == 206 else { return 0 }
        let words = (fields["Content-Range"] ?? "").split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "/" })
        return words.count > 1 && words[0] == "bytes" ? Int64(words[1]) ?? -1 : -1
    }

    /// Appends one line of a head. A status line begins a new head: of a redirect's target, or after `100 Continue`.
    private func append(head bytes: UnsafeRawBufferPointer) -> Bool {
        guard handle != nil else { return false }
        headSize += bytes.count
        guard headSize <= Self.maximumHeadSize else {
            exceeded = "\(Self.maximumHeadSize) bytes of header fields"
            return false
        }
        let line = String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            fields = HTTPFields()
        } else if let colon = line.firstIndex(of: ":") {
            fields.append(
                name: String(line[..<colon]), value: line[line.index(after: colon)...].trimmedOfHTTPSpace)
        }
        return true
    }

    private func done(_ result: CURLcode) {
        guard let handle else { return }
        CurlMulti.shared.remove(handle)
        if let failure {
            finish(.failure(failure))
        } else if let exceeded {
            finish(.failure(TransportError(.tooLarge, "\(handle.server) answered with more than \(exceeded)")))
        } else if result == CURLE_OK {
            chooseSink()
            do throws(TransportError) {
                if let fileStart { try answerSink?.finish(from: fileStart) }
            } catch {
                return finish(.failure(error))
            }
            progress?.finish()
            finish(.success(HTTPResponse(status: handle.info(CURLINFO_RESPONSE_CODE), fields: fields, body: body)))
        } else {
            finish(.failure(handle.error(for: result)))
        }
    }

    private func finish(_ result: Result<HTTPResponse, TransportError>) {
        let completion = completion
        self.completion = nil
        timer = nil
        release()
        completion?(result)
    }

    private func release() {
        if let handle { CurlMulti.shared.abandon(handle, owner: self) }
        handle = nil
        bodySource = nil
        answerSink = nil
    }
}

extension Substring {
    fileprivate var trimmedOfHTTPSpace: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
