import NIOCore
import NIOWebSocket
import Transport

/// One client on a WebSocket.
final class WebSocketPeer: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let core: ServerCore
    private let user: String?
    private var id: Int?
    private var nextPing: Scheduled<Void>?
    private var isAnswered = true

    init(core: ServerCore, user: String?) {
        (self.core, self.user) = (core, user)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard let user else {
            close(context)
            return
        }
        let (id, interval) = core.state.withLock { state in
            (state.addPeer(user), state.mode == .v8 ? state.configuration.webSocketPing : nil)
        }
        self.id = id
        core.sockets.withLock { $0[id] = context.channel }
        guard let interval else { return }  // the older server leaves that to its clients
        schedulePing(.nanoseconds(interval.wholeNanoseconds), context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextPing?.cancel()
        guard let id else { return }
        core.state.withLock { $0.peers[id] = nil }
        core.sockets.withLock { $0[id] = nil }
    }

    private func schedulePing(_ interval: TimeAmount, _ context: ChannelHandlerContext) {
        nextPing = context.eventLoop.assumeIsolated().scheduleTask(in: interval) {
            guard self.isAnswered else { return context.close(promise: nil) }
            self.isAnswered = false
            self.send(.ping, ByteBuffer(), context)
            self.schedulePing(interval, context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard let id else { return }
            let text = String(buffer: frame.unmaskedData)
            core.state.withLock { $0.received(text, from: id) }
        case .ping: send(.pong, frame.unmaskedData, context)
        case .pong: isAnswered = true
        case .connectionClose: close(context)
        case _: break  // binary frames mean nothing
        }
    }

    private func close(_ context: ChannelHandlerContext) {
        var code = ByteBuffer()
        code.write(webSocketErrorCode: .normalClosure)
        send(.connectionClose, code, context)
        context.close(promise: nil)
    }

    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
