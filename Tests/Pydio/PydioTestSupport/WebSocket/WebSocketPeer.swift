import Basics
import NIOCore
import NIOWebSocket

/// One client on a WebSocket.
final class WebSocketPeer: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let core: PydioServerCore
    private let user: String?
    private var id: Int?
    private var nextPing: Scheduled<Void>?
    /// Closes the connection.
    private var end: Scheduled<Void>?
    private var patience: TimeAmount?

    init(core: PydioServerCore, user: String?) {
        (self.core, self.user) = (core, user)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard let user else {
            close(context)
            return
        }
        let (id, mode, configuration) = core.state.withLock { ($0.addPeer(user), $0.mode, $0.configuration) }
        self.id = id
        core.sockets.withLock { $0[id] = context.channel }
        guard mode == .v8 else { return }  // the older server sends no pings
        patience = .nanoseconds(configuration.webSocketPatience.wholeNanoseconds)
        answered(context)
        schedulePing(.nanoseconds(configuration.webSocketPing.wholeNanoseconds), context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        nextPing?.cancel()
        end?.cancel()
        guard let id else { return }
        core.state.withLock { $0.peers[id] = nil }
        core.sockets.withLock { $0[id] = nil }
    }

    private func schedulePing(_ interval: TimeAmount, _ context: ChannelHandlerContext) {
        nextPing = context.eventLoop.assumeIsolated().scheduleTask(in: interval) {
            self.send(.ping, ByteBuffer(), context)
            self.schedulePing(interval, context)
        }
    }

    /// Extends the connection's time-out.
    private func answered(_ context: ChannelHandlerContext) {
        guard let patience else { return }
        end?.cancel()
        end = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard let id else { return }
            let text = String(buffer: frame.unmaskedData)
            core.state.withLock { $0.received(text, from: id) }
        case .ping: send(.pong, frame.unmaskedData, context)
        case .pong:
            answered(context)
            core.state.withLock { $0.pongCount += 1 }
        case .connectionClose: close(context)
        case _: break  // binary frames are ignored
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
