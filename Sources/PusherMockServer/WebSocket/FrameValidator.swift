import NIOCore
import NIOWebSocket

/// Checks what NIO's decoder leaves to others: frames from a client are masked (RFC 6455, section 5.1), and no
/// reserved bit is set, since no extension is negotiated (section 5.2).
final class FrameValidator: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    enum Violation: Error {
        case unmasked
        case reservedBit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        if frame.maskKey == nil {
            context.fireErrorCaught(Violation.unmasked)
        } else if !frame.reservedBits.isEmpty {
            context.fireErrorCaught(Violation.reservedBit)
        } else {
            context.fireChannelRead(data)
        }
    }
}
