import Basics
import CurlTransport
import Logging
import PeerLog
import PusherProtocol
import Realtime
import Transport

/// The delegate, which the application retains.
extension ClientCore {
    func setDelegate(_ delegate: (any PusherDelegate)?) {
        callbacks.withLock { if !$0.isClosed { $0.delegate = DelegateSlot(delegate) } }
        guard delegate != nil else { return }
        // Runs after the statement that sets the delegate: an object without another reference is released there. One
        // that lives a moment longer is found missing at its first notification.
        NetworkActor.execute { [weak self] in
            self?.runCallback { [weak self] in _ = self?.findDelegate(lasts: false) }
        }
    }

    /// The delegate to notify. On the callback queue.
    var delegate: (any PusherDelegate)? {
        findDelegate(lasts: callbacks.withLock { $0.announcedState } == .connected)
    }

    private func findDelegate(lasts: Bool) -> (any PusherDelegate)? {
        let (delegate, isLost) = callbacks.withLock { $0.delegate.find(lasts: lasts) }
        if isLost {
            // Programs written for older versions set no logger and would never notice.
            (options.logger ?? Logger(label: "pusher")).report(
                .warning,
                "the delegate is gone and hears nothing: the client holds it weakly, so keep a reference to it")
        }
        return delegate
    }

    // MARK: Messages

    /// Calls ``PusherDelegate/debugLog(message:)``. On the callback queue.
    func debugLog(_ message: PeerText) {
        switch callbacks.withLock({ $0.delegate.debugLog }) {
        case .inherited: break
        case .own: delegate?.debugLog(message)
        case .unknown:
            guard let delegate else { return }
            let probe = DebugLogProbe(delegate)
            DebugLogProbe.$current.withValue(probe) { delegate.debugLog(message) }
            callbacks.withLock { $0.delegate.learn(probe.result, of: delegate) }
        }
    }

    /// Logs the messages before their effects are reported.
    @NetworkActor
    func logReceived(_ messages: WebSocketMessages) {
        guard callbacks.withLock({ $0.delegate.wantsDebugLog }) else { return }
        putInLine(messages.indices.map { messages.receipt(at: $0) })
    }

    @NetworkActor
    func logSent(_ frame: ClientFrame) {
        guard callbacks.withLock({ $0.delegate.wantsDebugLog }) else { return }
        putInLine([frame.receipt])
    }

    @NetworkActor
    private func putInLine(_ lines: [PeerText]) {
        let byteCount = lines.reduce(0) { $0 + $1.byteCount }
        runCallback(load: CallbackLoad(count: 1, byteCount: byteCount)) { [weak self] in
            for line in lines { self?.debugLog(line) }
        }
    }
}

/// Descriptions by names of events and channels, and sizes; never the content.
extension WebSocketMessages {
    fileprivate func receipt(at index: Int) -> PeerText {
        if let range = textInChunk(at: index) { return Self.receipt(of: chunk, range) }
        return switch self[index] {
        case .text(let frame): Self.receipt(of: Array(frame), 0..<frame.count)
        case .binary(let bytes): "received a binary message, \(bytes.count) bytes"
        case .oversized(let byteCount): "received a message that is too large, \(byteCount) bytes of it"
        }
    }

    private static func receipt(of bytes: [UInt8], _ frame: Range<Int>) -> PeerText {
        do throws(MalformedFrame) {
            let event = try FrameParser.parse(bytes, frame)
            let channel = event.channelName.map { " on channel \(name($0))" } ?? ""
            return "received \(name(event.eventName))\(channel), \(frame.count) bytes"
        } catch {
            return "received a message that is not of the protocol, \(frame.count) bytes"
        }
    }

    /// Shortens a name, since lines that wait for a callback must be of bounded length.
    private static func name(_ text: String) -> String { PeerText(text).line(limit: 200) }
}

extension ClientFrame {
    fileprivate var receipt: PeerText {
        switch self {
        case .ping: "sent pusher:ping"
        case .pong: "sent pusher:pong"
        case .subscribe(let channel, _, _): "sent pusher:subscribe for channel \(channel.string)"
        case .unsubscribe(let channel): "sent pusher:unsubscribe for channel \(channel.string)"
        case .signIn: "sent pusher:signin"
        case .clientEvent(let name, let channel, let data):
            "sent \(name) on channel \(channel.string), \(data.utf8.count) bytes of data"
        }
    }
}
