import NIOCore

/// Closes a connection whose request takes too long to arrive, however many bytes arrive. It is the first handler: a
/// request begins with its first byte and is complete when it is answered.
final class RequestDeadline: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?

    init(_ time: TimeAmount) { self.time = time }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if deadline == nil {
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
                context.close(promise: nil)
            }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        endDeadline()
        context.write(data, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) { endDeadline() }

    private func endDeadline() {
        deadline?.cancel()
        deadline = nil
    }
}
