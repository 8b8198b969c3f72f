import NIOCore

/// Splits writes into pieces that are sent one by one, so that each arrives in its own TCP segment.
final class SegmentSplitter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The pause between pieces: long enough for a reader to receive them separately.
    private static let pause = TimeAmount.milliseconds(1)

    private let byteCount: Int
    private var pending = ByteBuffer()
    private var isPausing = false

    init(byteCount: Int) {
        self.byteCount = max(1, byteCount)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        pending.writeImmutableBuffer(Self.unwrapOutboundIn(data))
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) {
        guard !isPausing, let piece = pending.readSlice(length: min(byteCount, pending.readableBytes)),
            piece.readableBytes > 0
        else { return }
        context.writeAndFlush(Self.wrapOutboundOut(piece), promise: nil)
        isPausing = true
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) {
            self.isPausing = false
            if context.channel.isActive { self.flush(context: context) }
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if pending.readableBytes > 0 { context.writeAndFlush(Self.wrapOutboundOut(pending), promise: nil) }
        pending.clear()
        context.close(mode: mode, promise: promise)
    }
}
