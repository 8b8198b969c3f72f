import Basics
import CNATS
import CurlTransport
import Dispatch

/// A subscription of libnats. Passes messages to the I/O thread, in order and in batches.
///
/// `@unchecked Sendable`: the pointer is set once, and libnats locks what it points to.
final class NATSSubscription: @unchecked Sendable {
    let link: NATSLink
    private let raw: OpaquePointer
    private let closure: UInt
    private let inbox: Inbox

    /// - Parameters:
    ///   - headers: The names of the headers to read.
    ///   - onMessages: Not called any more once the subscription is released.
    init(
        _ link: NATSLink, subject: String, headers: [String],
        onMessages: @escaping @Sendable @NetworkActor ([IncomingMessage]) -> Void
    ) throws(NATSError) {
        let inbox = Inbox(headers, onMessages)
        let closure = NATSCallbacks.add(inbox)
        var raw: OpaquePointer?
        let status = natsConnection_Subscribe(
            &raw, link.connection, subject,
            { _, _, message, closure in
                guard let message else { return }
                NATSCallbacks.object(of: closure, as: Inbox.self)?.add(message)
                natsMsg_Destroy(message)
            }, UnsafeMutableRawPointer(bitPattern: closure))
        guard status == NATS_OK, let raw else {
            NATSCallbacks.remove(closure)
            throw NATSError(status, during: "the subscription to \(subject)")
        }
        (self.link, self.raw, self.closure, self.inbox) = (link, raw, closure, inbox)
    }

    deinit {
        NATSCallbacks.remove(closure)
        let raw = UInt(bitPattern: raw)
        // This sends the end of the subscription and may block.
        DispatchQueue.global().async { [link] in
            let free: @Sendable () -> Void = { natsSubscription_Destroy(OpaquePointer(bitPattern: raw)) }
            natsSubscription_Unsubscribe(OpaquePointer(bitPattern: raw))
            // Once the reading thread has seen the answer, it no longer holds a message of the subscription.
            let isUnused = natsConnection_FlushTimeout(link.connection, 1000) == NATS_OK
            if isUnused { free() } else { link.freeAtEnd(free) }
        }
    }

    /// Unsubscribes on the server. Blocks for a moment at most.
    ///
    /// - Parameter handsOutRest: Whether to deliver messages that have already arrived.
    func end(handsOutRest: Bool = false) {
        guard handsOutRest, natsSubscription_Drain(raw) == NATS_OK else {
            natsSubscription_Unsubscribe(raw)
            return
        }
        natsSubscription_WaitForDrainCompletion(raw, 500)
    }

    private final class Inbox: Sendable {
        private let headers: [String]
        private let onMessages: @Sendable @NetworkActor ([IncomingMessage]) -> Void
        private let messages = Lock(SerialInbox<IncomingMessage>())

        init(_ headers: [String], _ onMessages: @escaping @Sendable @NetworkActor ([IncomingMessage]) -> Void) {
            (self.headers, self.onMessages) = (headers, onMessages)
        }

        /// Called on the subscription's thread.
        func add(_ raw: OpaquePointer) {
            let message = IncomingMessage(raw, headers: headers)
            let isOurs = messages.withLock { messages in
                messages.add(message)
                return messages.begin()
            }
            guard isOurs else { return }
            NetworkActor.execute { [weak self] in
                while let batch = self?.messages.withLock({ $0.all() }), !batch.isEmpty {
                    self?.onMessages(batch)
                }
            }
        }
    }
}
