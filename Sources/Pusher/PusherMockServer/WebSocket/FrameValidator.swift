import NIOCore
import NIOWebSocket
import Transport

/// Checks rules that NIO's decoder doesn't: frames from a client are masked (RFC 6455, section 5.1), and no reserved
/// bit is set, since no extension is negotiated (section 5.2). Forwards frames unmasked: NIO unmasks byte by byte,
/// which takes a tenth of a second per mebibyte in a debug build.
final class FrameValidator: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    enum Violation: Error {
        case unmasked
        case reservedBit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        guard let key = frame.maskKey else { return context.fireErrorCaught(Violation.unmasked) }
        guard frame.reservedBits.isEmpty else { return context.fireErrorCaught(Violation.reservedBit) }
        var payload = frame.data
        payload.withUnsafeMutableReadableBytes { bytes in
            FrameMask.apply(key.reduce(0) { $0 << 8 | UInt32($1) }, to: bytes)
        }
        context.fireChannelRead(
            Self.wrapInboundOut(WebSocketFrame(fin: frame.fin, opcode: frame.opcode, data: payload)))
    }
}
