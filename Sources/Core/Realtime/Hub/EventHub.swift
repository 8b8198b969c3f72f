import Basics
import Transport

/// Whom events and notices go to: bindings, observers, sequences, the sinks that are attached, and the line in which all of
/// them wait for the application.
///
///     I/O thread: deliver ──► line ──► callback queue: bindings, owner, observers
///                    └──► sinks (hubs of other clients)
///
/// What an owner of a hub does with it stands in ``HubOwner``. Code of the application is never called, nor let go of, with
/// a lock held.
package final class EventHub<Notice: HubNotice>: Sendable {
    struct State: Sendable {
        var router: EventRouter
        var observers = Observers<Notice>()
        var channels = NamedChannels()
        var sources = AttachedSources()
        var sinks = AttachedSinks()
        var isClosed = false

        /// Whether the channel can still have bindings; nil stands for everything.
        func isLive(_ channel: EventRouter.ChannelID?) -> Bool {
            !isClosed && channel.map { router.hasChannel($0) } ?? true
        }
    }

    let state: Lock<State>
    /// Changes when the bindings do.
    let version = RouterVersion()
    /// Readers of sequences for whom the present batch has brought something.
    let wakeUps = ReaderWakeUps()
    let line: CallbackQueue<Notice>

    /// - Parameters:
    ///   - queue: Where the application's code runs.
    ///   - capacity: Waiting notices, or their bytes, at which no more events are asked for.
    package init(_ queue: EventCallbackQueue, capacity: CallbackLoad) {
        state = Lock(State(router: EventRouter(version: version)))
        line = CallbackQueue(queue, capacity: capacity)
    }

    /// Whether the application wants to hear nothing more.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether anybody has bound to events here.
    package var hasBindings: Bool { state.withLock { $0.router.hasBindings } }

    /// Ends everything for good: sequences end, and no callback begins any more.
    package func close() {
        line.close()
        let old = state.withLock { state in
            defer { state = State(router: EventRouter(version: version), isClosed: true) }
            return state
        }
        version.increment()  // who is delivering an event looks before the next binding
        old.observers.all.forEach { $0.onEnd() }
    }

    // MARK: Channels

    /// From now on it can be bound to.
    package func addChannel(_ id: EventRouter.ChannelID) {
        state.withLock { state in
            if !state.isClosed { state.router.addChannel(id) }
        }
    }

    /// Forgets the channel's bindings, and ends its sequences.
    package func removeChannel(_ id: EventRouter.ChannelID) {
        let (bindings, observers) = state.withLock { state in
            (state.router.removeChannel(id), state.observers.removeAll(of: id))
        }
        _ = bindings  // let go of after the lock
        observers.forEach { $0.onEnd() }
    }

    /// The channel of a name that nobody subscribes, which there is from now on.
    package func channel(named name: String) -> EventRouter.ChannelID {
        state.withLock { state in
            if let id = state.channels[name] { return id }
            guard !state.isClosed else { return .none }
            let id = state.channels.add(name)
            state.router.addChannel(id)
            return id
        }
    }

    /// - Returns: What it was, if it was there.
    @discardableResult
    package func removeChannel(named name: String) -> EventRouter.ChannelID? {
        let id = state.withLock { $0.channels.remove(name) }
        if let id { removeChannel(id) }
        return id
    }

    /// Names of channels that nobody subscribes.
    package var channelNames: [String] { state.withLock { $0.channels.names } }

    // MARK: Bindings

    /// - Parameters:
    ///   - channel: Nil: everything that comes.
    ///   - event: Nil: every event of the channel.
    /// - Returns: Nil if nothing more comes.
    package func bind(
        to channel: EventRouter.ChannelID?, event: String? = nil, _ handler: @escaping EventRouter.Handler
    ) -> EventRouter.BindingID? {
        state.withLock { state in
            guard state.isLive(channel) else { return nil }
            return channel.map { state.router.bind(to: $0, event: event, handler) }
                ?? state.router.bindGlobally(handler)
        }
    }

    /// - Parameter event: Nil: from whatever it was bound to.
    package func unbind(
        _ id: EventRouter.BindingID, from channel: EventRouter.ChannelID?, event: String? = nil
    ) {
        _ = state.withLock { state in
            channel.map { state.router.unbind(id, from: $0, event: event) } ?? state.router.unbindGlobally(id)
        }
    }

    /// Sequences go on.
    package func unbindAll(from channel: EventRouter.ChannelID?, event: String? = nil) {
        _ = state.withLock { state -> [EventRouter.Binding] in
            guard let channel else { return state.router.unbindAllGlobally() }
            return event.map { state.router.unbindAll(from: channel, event: $0) }
                ?? state.router.unbindAll(from: channel)
        }
    }

    // MARK: Delivering, on the callback queue

    /// Global bindings first, then the channel's, in order of binding.
    ///
    /// - Parameters:
    ///   - isLikeTheLast: Whether it has name and channel of the event before.
    ///   - route: That of the last event. It is looked up anew when something was bound or unbound since.
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

    /// An event of the owner's own, on the callback queue.
    package func deliver(_ event: RealtimeEvent, on channel: EventRouter.ChannelID) {
        var route: Route?
        deliver(event, on: channel, isLikeTheLast: false, by: &route)
    }

    /// The same for one that is no event of a peer's, and so not for global bindings.
    package func deliver(_ event: RealtimeEvent, toBindingsOf channel: EventRouter.ChannelID) {
        state.withLock { $0.router.route(of: event, on: channel) }.callBound(event, version: version, wakeUps: wakeUps)
        {
            channel in state.withLock { $0.isLive(channel) }
        }
    }
}

/// What an ``EventHub`` puts in line.
package protocol HubNotice: Sendable {
    /// For the bindings; nil for whatever else there is to tell.
    var events: EventBatch? { get }
    /// The channel that it concerns; nil for all of them.
    var channel: EventRouter.ChannelID? { get }
    /// Whether observers are told at once instead of in line: the callbacks may be what it is about. Events never are.
    var isUrgent: Bool { get }
}

extension HubNotice {
    package var isUrgent: Bool { false }
}

/// What events are lost to a sequence that is read too slowly.
package enum EventLoss: Sendable {
    /// The oldest of those that waited.
    case oldest
    /// All from here on: the sequence has ended.
    case rest
}

/// Whose hub it is. May be called from any thread, unless it is said otherwise.
package protocol HubOwner<Notice>: AnyObject, Sendable {
    associatedtype Notice: HubNotice

    var hub: EventHub<Notice> { get }

    /// Tells the application of what is not an event. On the callback queue.
    func tell(_ notice: Notice)

    /// Asks for no more events until ``release(for:)``. The two come from two threads, and so in any order: they are counted.
    func hold(for reader: EventReader)

    /// Takes back one ``hold(for:)``.
    func release(for reader: EventReader)

    /// Asks for no more events as long as one of the sinks takes none. Called with the last word last.
    func hold(_ isHeld: Bool)

    /// Events were lost to a sequence of this channel.
    func lost(_ loss: EventLoss, channelName: String?)

    /// Runs `job` after those before it, on the thread that puts notices in line.
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

    /// Runs code of the application that answers a question, in its place among the callbacks.
    ///
    /// - Parameter load: What waits with it.
    package func runCallback(
        load: CallbackLoad = CallbackLoad(count: 1), _ work: @escaping @Sendable () -> Void
    ) {
        hub.line.run(for: self, load: load, work)
    }

    /// Too much waits for this reader: nothing more is asked for.
    func holdReading(for reader: EventReader) {
        hold(for: reader)
        holdSources()
    }

    func releaseReading(for reader: EventReader) {
        release(for: reader)
        releaseSources()
    }
}
