import Basics
import Glibc
import NIOCore
import NIOWebSocket
import PusherProtocol
import Transport

/// One upgraded connection: moves frames between NIO and the server's logic, and carries out faults.
///
/// Confined to the server's event loop, like everything behind ``ServerCore``.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private enum State {
        /// Upgraded, but without a socket id yet.
        case opening
        case established(SocketID)
        /// The server has sent its close frame.
        case closing(SocketID?)
        case closed
    }

    private struct Behaviour {
        var isSilent = false
        var ignoresPings = false
        var fragmentSize: Int?
        var delay: Duration?
        /// The number of frames to send in one write.
        var mergedCount: Int?
    }

    /// The time within which the peer must answer the server's close frame before TCP is closed.
    private static let closeTimeout = TimeAmount.seconds(2)

    private let core: ServerCore
    private let request: Result<ConnectRequest, ConnectRequest.Refusal>
    private let fault: PusherMockServer.HandshakeFault?
    private var state: State = .opening
    private var behaviour = Behaviour()
    private var faults = PendingFaults()
    private var shaper = FrameShaper()
    private var unflushedFrameCount = 0
    private var keepAlive: KeepAlive?
    private var context: ChannelHandlerContext?
    private var closeCode: Int?

    init(
        core: ServerCore, request: Result<ConnectRequest, ConnectRequest.Refusal>,
        fault: PusherMockServer.HandshakeFault?
    ) {
        self.core = core
        self.request = request
        self.fault = fault
    }

    private var socketID: SocketID? {
        switch state {
        case .established(let socketID): socketID
        case .closing(let socketID): socketID
        case .opening, .closed: nil
        }
    }

    // MARK: Handshake

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        switch fault {
        case nil, .refuseConnection, .httpStatus: open()  // the last two ended before the upgrade
        case .refuse(let code, let message): refuse(code: code, message: message)
        case .close(let code, let reason): close(code: code, reason: reason)
        case .errorFirst(let code, let message):
            write(EncodedFrame(core.frames.error(code: code, message: message)))
            open()
        case .text(let text):
            write(EncodedFrame(text))
            context.flush()
        case .delay(let delay): schedule(after: delay) { $0.open() }
        case .never: break
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    private func open() {
        guard case .opening = state else { return }
        guard !core.configuration.echoesMessages else {
            state = .established(core.makeSocketID())
            return
        }
        switch request {
        case .success(let request):
            let socketID = core.makeSocketID()
            state = .established(socketID)
            core.connectionOpened(self, socketID: socketID, appKey: request.appKey)
        case .failure(let refusal): refuse(code: refusal.code, message: refusal.message)
        }
    }

    private func refuse(code: Int, message: String) {
        core.log(.connectionRefused(code: code))
        write(EncodedFrame(core.frames.error(code: code, message: message)))
        close(code: code, reason: message)
    }

    func startKeepAlive(_ keepAlive: KeepAlive) {
        self.keepAlive = keepAlive
        keepAliveTimerFired()
    }

    private func keepAliveTimerFired() {
        guard case .established = state, !behaviour.isSilent else { return }
        switch keepAlive?.timerFired(now: .now) {
        case nil: break
        case .wait(let delay): schedule(after: delay) { $0.keepAliveTimerFired() }
        case .ping where !core.configuration.profile.pingsSilentClients: context?.close(promise: nil)
        case .ping(let delay):
            sendPing()
            schedule(after: delay) { $0.keepAliveTimerFired() }
        case .giveUp:
            let reason = "Pong reply not received in time"
            if core.configuration.profile.announcesMissingPong {
                send(EncodedFrame(core.frames.error(code: 4201, message: reason)))
            }
            close(code: 4201, reason: reason)
        }
    }

    /// Sends a ping. Before version 5 a client need not know the event.
    private func sendPing() {
        if case .success(let request) = request, request.protocolVersion < 5 {
            writeControl(.ping, ByteBuffer())
        } else {
            send(EncodedFrame(core.frames.ping))
        }
        flush()
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !behaviour.isSilent else { return }
        keepAlive?.frameReceived(now: .now)
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text: textReceived(frame.data)
        case .binary where core.configuration.echoesMessages: echo(.binary, frame.data)
        case .binary: close(code: 1003, reason: "Binary frames are not supported")
        case .ping: pingReceived(frame.data)
        case .pong: if let socketID { core.log(.pongReceived(socketID: socketID.string)) }
        case .connectionClose: closeReceived(frame.data)
        case _: close(code: 1002, reason: "Unknown opcode")
        }
    }

    private func textReceived(_ buffer: ByteBuffer) {
        guard case .established(let socketID) = state else { return }
        guard let text = String(validating: buffer.readableBytesView, as: UTF8.self) else {
            return close(code: 1007, reason: "Text that is not UTF-8")
        }
        guard !core.configuration.echoesMessages else { return echo(.text, buffer) }
        core.log(.frameReceived(text, socketID: socketID.string))
        if behaviour.ignoresPings, (try? ClientMessage(parsing: text)) == .ping { return }
        core.received(text, from: socketID)
    }

    private func echo(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        guard case .established = state else { return }
        write(WebSocketFrame(fin: true, opcode: opcode, data: payload))
        flushAll()
    }

    private func pingReceived(_ payload: ByteBuffer) {
        if let socketID { core.log(.pingReceived(socketID: socketID.string)) }
        if case .closing = state { return }
        guard !behaviour.ignoresPings else { return }
        writeControl(.pong, payload)
        flushAll()
    }

    private func closeReceived(_ payload: ByteBuffer) {
        let frame = payload.withUnsafeReadableBytes { CloseFrame(payload: $0) }
        if case .close(let code, _) = frame { closeCode = closeCode ?? code.map(Int.init) ?? 1005 }
        if case .closing = state {
            context?.close(promise: nil)
            return
        }
        switch frame {
        case .close(let code, _): answerClose(code: code)
        case .violation(let code, let reason): close(code: Int(code), reason: reason)
        }
    }

    private func answerClose(code: UInt16?) {
        guard let context else { return }
        state = .closing(socketID)
        context.writeAndFlush(Self.wrapOutboundOut(Self.closeFrame(code: code, reason: "")))
            .assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let socketID = socketID
        state = .closed
        if let socketID { core.connectionClosed(socketID, code: closeCode) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            close(code: 1009, reason: "Message too large")
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error, is FrameValidator.Violation:
            close(code: 1002, reason: "Protocol error")
        default: context.close(promise: nil)
        }
    }

    // MARK: Sending

    /// Queues `frame` until ``flush()``. Nothing is sent once the connection is closing.
    func send(_ frame: EncodedFrame) {
        guard case .established(let socketID) = state, !behaviour.isSilent else { return }
        let frame = shaper.shaped(frame)
        core.log(.frameSent(frame.text, socketID: socketID.string))
        if let delay = behaviour.delay {
            schedule(after: delay) { connection in
                guard case .established = connection.state else { return }
                connection.writeShaped(frame)
                connection.flush()
            }
        } else {
            writeShaped(frame)
        }
        faults.frameSent()
        strikeDueFaults()
    }

    /// Writes the queued frames. Frames to be merged wait for each other.
    func flush() {
        if let count = behaviour.mergedCount, unflushedFrameCount < count { return }
        flushAll()
    }

    private func flushAll() {
        unflushedFrameCount = 0
        context?.flush()
    }

    private func writeShaped(_ frame: EncodedFrame) {
        for frame in shaper.turn(of: frame) { write(frame) }
        unflushedFrameCount += 1
    }

    private func write(_ frame: EncodedFrame) {
        guard let size = behaviour.fragmentSize, size > 0, frame.buffer.readableBytes > size else {
            return write(WebSocketFrame(fin: true, opcode: .text, data: frame.buffer))
        }
        var rest = frame.buffer
        var opcode = WebSocketOpcode.text
        while let part = rest.readSlice(length: min(size, rest.readableBytes)), part.readableBytes > 0 {
            write(WebSocketFrame(fin: rest.readableBytes == 0, opcode: opcode, data: part))
            opcode = .continuation
        }
    }

    private func writeControl(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        write(WebSocketFrame(fin: true, opcode: opcode, data: payload))
    }

    private func write(_ frame: WebSocketFrame) {
        guard let context else { return }
        context.write(Self.wrapOutboundOut(frame), promise: nil)
        if !context.channel.isWritable { dropIfFarBehind(context) }
    }

    private func dropIfFarBehind(_ context: ChannelHandlerContext) {
        guard let unsent = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes),
            unsent > core.configuration.maximumUnsentSize
        else { return }
        context.close(promise: nil)
    }

    /// Stops reading from a client that does not read its answers: more of them would only queue up here.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    /// Sends a close frame and ends the connection when the peer has answered it, or after a timeout.
    func close(code: Int?, reason: String) {
        switch state {
        case .closing, .closed: return
        case .opening, .established: break
        }
        state = .closing(socketID)
        closeCode = closeCode ?? code ?? 1005
        write(Self.closeFrame(code: code.flatMap { UInt16(exactly: $0) }, reason: reason))
        flushAll()
        context?.eventLoop.assumeIsolated().scheduleTask(in: Self.closeTimeout) { [weak self] in
            self?.context?.close(promise: nil)
        }
    }

    private static func closeFrame(code: UInt16?, reason: String) -> WebSocketFrame {
        var payload = ByteBuffer()
        if let code {
            payload.writeInteger(code)
            payload.writeString(reason.prefix(utf8Count: 123))  // a control frame has at most 125 bytes
        }
        return WebSocketFrame(fin: true, opcode: .connectionClose, data: payload)
    }

    // MARK: Faults

    func inject(_ fault: PusherMockServer.ConnectionFault, afterFrames count: Int) {
        faults.add(fault, afterFrames: count)
        strikeDueFaults()
    }

    private func strikeDueFaults() {
        let due = faults.takeDue()
        guard !due.isEmpty else { return }
        flushAll()
        for fault in due { strike(fault) }
        flushAll()
    }

    private func strike(_ fault: PusherMockServer.ConnectionFault) {
        switch fault {
        case .close(let code, let reason): close(code: code, reason: reason)
        case .dropTCP: context?.close(promise: nil)
        case .resetTCP: reset()
        case .goSilent: behaviour.isSilent = true
        case .ignorePings: behaviour.ignoresPings = true
        case .text(let text): write(EncodedFrame(text))
        case .binary(let bytes): write(WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(bytes: bytes)))
        case .ping(let payload): writeControl(.ping, ByteBuffer(bytes: payload))
        case .bytes(let bytes): writeBelowFraming(ByteBuffer(bytes: bytes))
        case .hugeText(let count): write(EncodedFrame(String(repeating: "x", count: max(0, count))))
        case .duplicateFrames: shaper.duplicates = true
        case .fragmentFrames(let count): behaviour.fragmentSize = count
        case .delayFrames(let delay): behaviour.delay = delay
        case .reverseFrames(let count): shaper.reversedCount = count
        case .mergeFrames(let count): behaviour.mergedCount = count
        case .splitWrites(let count): splitWrites(byteCount: count)
        case .omitData: shaper.omitsData = true
        }
    }

    private func schedule(after delay: Duration, _ body: @escaping (WebSocketHandler) -> Void) {
        context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(bounded: delay)) { [weak self] in
            if let self { body(self) }
        }
    }

    /// Resets the connection: with a linger time of zero, the kernel sends a reset instead of the usual end.
    private func reset() {
        guard let context else { return }
        let socket = context.channel as? any SocketOptionProvider
        socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private func splitWrites(byteCount: Int) {
        guard let pipeline = context?.pipeline.syncOperations,
            let encoder = try? pipeline.handler(type: WebSocketFrameEncoder.self)
        else { return }
        try? pipeline.addHandler(SegmentSplitter(byteCount: byteCount), position: .before(encoder))
    }

    private func writeBelowFraming(_ bytes: ByteBuffer) {
        let encoder = try? context?.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
        encoder?.writeAndFlush(NIOAny(bytes), promise: nil)
    }
}

extension String {
    /// Returns the longest prefix of the text with at most `count` bytes.
    fileprivate func prefix(utf8Count count: Int) -> String {
        var result = self
        while result.utf8.count > count { result.removeLast() }
        return result
    }
}
