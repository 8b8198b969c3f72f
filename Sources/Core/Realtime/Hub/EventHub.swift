import Basics
import Transport

/// The receivers of events and notices: bindings, observers, sequences, attached sinks, and the line in which all of
/// them wait for the application.
///
///     I/O thread: deliver ──► line ──► callback queue: bindings, owner, observers
///                    └──► sinks (hubs of other clients)
///
/// For what an owner of a hub must do, see ``HubOwner``. Application code is never called or released with a lock held.
package final class EventHub<Notice: HubNotice>: Sendable {
    struct State: Sendable {
        var router: EventRouter
        var observers = Observers<Notice>()
        var channels = NamedChannels()
        var sources = AttachedSources()
        var sinks = AttachedSinks()
        var isClosed = false

        /// Whether the channel can still have bindings; nil for the whole client.
        func isLive(_ channel: EventRouter.ChannelID?) -> Bool {
            !isClosed && channel.map { router.hasChannel($0) } ?? true
        }
    }

    let state: Lock<State>
    /// Changes when the bindings do.
    let version = RouterVersion()
    /// The readers of sequences that received events from the current batch.
    let wakeUps = ReaderWakeUps()
    let line: CallbackQueue<Notice>

    /// - Parameters:
    ///   - queue: Where the application's code runs.
    ///   - capacity: The load of waiting notices at which no more events are requested.
    package init(_ queue: EventCallbackQueue, capacity: CallbackLoad) {
        state = Lock(State(router: EventRouter(version: version)))
        line = CallbackQueue(queue, capacity: capacity)
    }

    /// Whether the hub is closed and delivers nothing more.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    package var hasBindings: Bool { state.withLock { $0.router.hasBindings } }

    /// Closes the hub for good: sequences end, and no more callbacks start.
    package func close() {
        line.close()
        let old = state.withLock { state in
            defer { state = State(router: EventRouter(version: version), isClosed: true) }
            return state
        }
        version.increment()  // a delivery in progress checks before the next binding
        old.observers.all.forEach { $0.onEnd() }
    }

    // MARK: Channels

    /// Adds a channel, which can then have bindings.
    package func addChannel(_ id: EventRouter.ChannelID) {
        state.withLock { state in
            if !state.isClosed { state.router.addChannel(id) }
        }
    }

    /// Removes the channel's bindings and ends its sequences.
    package func removeChannel(_ id: EventRouter.ChannelID) {
        let (bindings, observers) = state.withLock { state in
            (state.router.removeChannel(id), state.observers.removeAll(of: id))
        }
        _ = bindings  // released after the lock
        observers.forEach { $0.onEnd() }
    }

    /// Returns the channel with a name that has no subscription, creating it if needed.
    package func channel(named name: String) -> EventRouter.ChannelID {
        state.withLock { state in
            if let id = state.channels[name] { return id }
            guard !state.isClosed else { return .none }
            let id = state.channels.add(name)
            state.router.addChannel(id)
            return id
        }
    }

    /// - Returns: The channel's ID, if it existed.
    @discardableResult
    package func removeChannel(named name: String) -> EventRouter.ChannelID? {
        let id = state.withLock { $0.channels.remove(name) }
        if let id { removeChannel(id) }
        return id
    }

    /// The names of channels without subscriptions.
    package var channelNames: [String] { state.withLock { $0.channels.names } }

    // MARK: Bindings

    /// - Parameters:
    ///   - channel: The channel, or nil for all events of all channels.
    ///   - event: The event's name, or nil for all events of the channel.
    /// - Returns: The binding's ID; nil if no more events will arrive.
    package func bind(
        to channel: EventRouter.ChannelID?, event: String? = nil, _ handler: @escaping EventRouter.Handler
    ) -> EventRouter.BindingID? {
        state.withLock { state in
            guard state.isLive(channel) else { return nil }
            return channel.map { state.router.bind(to: $0, event: event, handler) }
                ?? state.router.bindGlobally(handler)
        }
    }

    /// - Parameter event: The event's name, or nil to unbind from everything.
    package func unbind(
        _ id: EventRouter.BindingID, from channel: EventRouter.ChannelID?, event: String? = nil
    ) {
        _ = state.withLock { state in
            channel.map { state.router.unbind(id, from: $0, event: event) } ?? state.router.unbindGlobally(id)
        }
    }

    /// Removes bindings but keeps sequences.
    package func unbindAll(from channel: EventRouter.ChannelID?, event: String? = nil) {
        _ = state.withLock { state -> [EventRouter.Binding] in
            guard let channel else { return state.router.unbindAllGlobally() }
            return event.map { state.router.unbindAll(from: channel, event: $0) }
                ?? state.router.unbindAll(from: channel)
        }
    }

    // MARK: Delivering, on the callback queue

    /// Calls global bindings first, then the channel's, in order of binding.
    ///
    /// - Parameters:
    ///   - isLikeTheLast: Whether it has the same name and channel as the previous event.
    ///   - route: The route of the last event. It is looked up again if a binding has changed since.
    func deliver(
        _ event: RealtimeEvent, on channel: EventRouter.ChannelID?, isLikeTheLast: Bool, by route: inout Route?
    ) {
        let version = version.value
        let isValid =
            isLikeTheLast
            ? route?.isCurrent(version) == true : route?.isValid(for: event, on: channel, version: version) == true
        if !isValid { route = state.withLock { $0.router.route(of: event, on: channel) } }
        // A handler may unsubscribe.
        route?.call(event, version: self.version, wakeUps: wakeUps) { channel in state.withLock { $0.isLive(channel) } }
    }

    /// Delivers an event created by the owner. On the callback queue.
    package func deliver(_ event: RealtimeEvent, on channel: EventRouter.ChannelID) {
        var route: Route?
        deliver(event, on: channel, isLikeTheLast: false, by: &route)
    }

    /// Like ``deliver(_:on:)``, but for an event that doesn't come from a peer, and so skips global bindings.
    package func deliver(_ event: RealtimeEvent, toBindingsOf channel: EventRouter.ChannelID) {
        state.withLock { $0.router.route(of: event, on: channel) }.callBound(event, version: version, wakeUps: wakeUps)
        {
            channel in state.withLock { $0.isLive(channel) }
        }
    }
}

package protocol HubNotice: Sendable {
    /// The events for the bindings; nil for any other notice.
    var events: EventBatch? { get }
    /// The channel that it concerns; nil for all of them.
    var channel: EventRouter.ChannelID? { get }
    /// Whether observers are notified at once instead of in line, since slow callbacks may be the subject. Never true
    /// for events.
    var isUrgent: Bool { get }
}

extension HubNotice {
    package var isUrgent: Bool { false }
}

/// The kind of events that a slow sequence loses.
package enum EventLoss: Sendable {
    /// The oldest of the waiting events.
    case oldest
    /// All further events: the sequence has ended.
    case rest
}

/// The owner of a hub. Its methods may be called from any thread unless stated otherwise.
package protocol HubOwner<Notice>: AnyObject, Sendable {
    associatedtype Notice: HubNotice

    var hub: EventHub<Notice> { get }

    /// Reports a notice other than events to the application. On the callback queue.
    func tell(_ notice: Notice)

    /// Requests no more events until ``release(for:)``. The two calls come from two threads, and so in any order. They
    /// are therefore counted.
    func hold(for reader: EventReader)

    /// Takes back one ``hold(for:)``.
    func release(for reader: EventReader)

    /// Requests no more events while one of the sinks is held. The last call has the current value.
    func hold(_ isHeld: Bool)

    /// Reports that a sequence of this channel lost events.
    func lost(_ loss: EventLoss, channelName: String?)

    /// Runs `job` after pending jobs, on the thread that puts notices in line.
    func execute(_ job: @escaping @Sendable () -> Void)
}

extension HubOwner {
    package func hold(_ isHeld: Bool) {}

    /// Puts notices in line for the application. Called by one thread at a time.
    package func putInLine(_ notices: [Notice]) {
        var load = CallbackLoad()
        for notice in notices {
            let batch = notice.events
            load += CallbackLoad(of: batch)
            if batch == nil, notice.isUrgent { hub.tellObservers(of: notice) }
        }
        hub.line.add(notices, load: load, to: self)
    }

    /// Runs application code that answers a question, in order with the callbacks.
    ///
    /// - Parameter load: The load that waits with it.
    package func runCallback(
        load: CallbackLoad = CallbackLoad(count: 1), _ work: @escaping @Sendable () -> Void
    ) {
        hub.line.run(for: self, load: load, work)
    }

    /// Requests no more events, because too much is waiting for this reader.
    func holdReading(for reader: EventReader) {
        hold(for: reader)
        holdSources()
    }

    func releaseReading(for reader: EventReader) {
        release(for: reader)
        releaseSources()
    }
}
