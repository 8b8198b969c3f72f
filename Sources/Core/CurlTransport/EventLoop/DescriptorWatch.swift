import CLinux

/// Reports when a descriptor is readable or writable. The descriptor's owner cancels the watch before closing it.
@NetworkActor
final class DescriptorWatch {
    let descriptor: Int32
    /// The events to watch: `EPOLLIN`, `EPOLLOUT` or both, which include errors and hang-ups; or none.
    var events: UInt32 {
        didSet {
            if let token { EventLoop.shared.change(self, token: token, from: oldValue) }
        }
    }

    let onReady: @NetworkActor (UInt32) -> Void
    private var token: UInt64?

    init(_ descriptor: Int32, events: UInt32, onReady: @escaping @NetworkActor (UInt32) -> Void) {
        self.descriptor = descriptor
        self.events = events
        self.onReady = onReady
        token = EventLoop.shared.add(self)
    }

    func cancel() {
        guard let token else { return }
        self.token = nil
        EventLoop.shared.remove(self, token: token)
    }
}
