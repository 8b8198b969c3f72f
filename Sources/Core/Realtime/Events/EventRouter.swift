import Basics

/// The bindings to events: to all events, to a channel, and to one event of a channel.
///
/// For each event, global bindings come first, then the channel's, each in order of binding. A lookup costs at most one
/// dictionary access for the channel and one for the event, whatever the number of other bindings.
///
/// Methods that remove bindings return them, because the last reference to an object that a handler retains must not be
/// released while the owner's lock is held.
package struct EventRouter: Sendable {
    package typealias Handler = @Sendable (RealtimeEvent) -> Void

    package struct Binding: Sendable {
        package let id: BindingID
        /// Whether it belongs to a sequence. It then ends with the sequence, not when everything is unbound.
        let isOfSequence: Bool
        package let handler: Handler
    }

    package struct BindingID: Hashable, Sendable {
        package let number: Int

        package init(number: Int) {
            self.number = number
        }

        package init?(string: String) {
            guard let number = Int(string) else { return nil }
            self.init(number: number)
        }

        package var string: String { String(number) }
    }

    /// One subscription to a channel. Subscribing again after unsubscribing creates a new one, so that pending events
    /// cannot reach the new bindings.
    package struct ChannelID: Hashable, Sendable, Comparable {
        package let number: Int

        package init(number: Int) {
            self.number = number
        }

        package static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }

        /// The ID of a channel that cannot be subscribed to.
        package static let none = Self(number: 0)
    }

    private struct ChannelBindings {
        var all: [Binding] = []
        /// For each event that has bindings of its own: these and the bindings to all events, in order of binding.
        var byName: [ByteKey: [Binding]] = [:]

        var everything: [Binding] { all + byName.values.joined() }

        /// Removes lists that only repeat the bindings to all events.
        mutating func removeNeedlessLists() {
            byName = byName.filter { $0.value.count > all.count }
        }
    }

    private var global: [Binding] = [] {
        didSet { changed() }
    }
    private var channels: [ChannelID: ChannelBindings] = [:] {
        didSet { changed() }
    }
    /// The last route of each channel since the last change. Routes hold only bindings that are also in the properties
    /// above.
    private var routes: [ChannelID: Route] = [:]
    /// Shows whether a stored ``Route`` may be out of date.
    package let version: RouterVersion
    private var lastBinding = 0

    package init(version: RouterVersion = RouterVersion()) {
        self.version = version
    }

    private mutating func changed() {
        routes = [:]
        version.increment()
    }

    package var hasBindings: Bool {
        !global.isEmpty || channels.values.contains { !$0.all.isEmpty || !$0.byName.isEmpty }
    }

    // MARK: Channels

    package mutating func addChannel(_ id: ChannelID) {
        if channels[id] == nil { channels[id] = ChannelBindings() }
    }

    package func hasChannel(_ id: ChannelID) -> Bool { channels[id] != nil }

    /// Removes the channel with its bindings. No more events are delivered to it.
    package mutating func removeChannel(_ id: ChannelID) -> [Binding] {
        channels.removeValue(forKey: id)?.everything ?? []
    }

    // MARK: Bindings

    package mutating func bindGlobally(isOfSequence: Bool = false, _ handler: @escaping Handler) -> BindingID {
        let binding = makeBinding(isOfSequence, handler)
        global.append(binding)
        return binding.id
    }

    /// Binds to one event, or to all events of the channel if `event` is nil. For a channel that is gone, the returned
    /// ID has no effect.
    package mutating func bind(
        to channel: ChannelID, event: String?, isOfSequence: Bool = false, _ handler: @escaping Handler
    ) -> BindingID {
        let binding = makeBinding(isOfSequence, handler)
        if let event {
            let all = channels[channel]?.all ?? []
            channels[channel]?.byName[ByteKey(event), default: all].append(binding)
        } else {
            channels[channel]?.all.append(binding)
            for name in Array((channels[channel]?.byName ?? [:]).keys) {
                channels[channel]?.byName[name]?.append(binding)
            }
        }
        return binding.id
    }

    package mutating func unbindGlobally(_ id: BindingID) -> [Binding] {
        defer { global.removeAll { $0.id == id } }
        return global.filter { $0.id == id }
    }

    package mutating func unbindAllGlobally() -> [Binding] {
        defer { global = global.filter(\.isOfSequence) }
        return global
    }

    /// Unbinds `id` from one event, or from the whole channel if `event` is nil. Ignores an unknown ID.
    package mutating func unbind(_ id: BindingID, from channel: ChannelID, event: String? = nil) -> [Binding] {
        guard var bindings = channels[channel] else { return [] }
        let removed = bindings.everything.filter { $0.id == id }
        if let event {
            guard !bindings.all.contains(where: { $0.id == id }) else { return [] }  // bound to all, not to this one
            bindings.byName[ByteKey(event)]?.removeAll { $0.id == id }
        } else {
            bindings.all.removeAll { $0.id == id }
            for name in Array(bindings.byName.keys) { bindings.byName[name]?.removeAll { $0.id == id } }
        }
        bindings.removeNeedlessLists()
        channels[channel] = bindings
        return removed
    }

    package mutating func unbindAll(from channel: ChannelID, event: String) -> [Binding] {
        guard var bindings = channels[channel], let list = bindings.byName[ByteKey(event)] else { return [] }
        let all = Set(bindings.all.map(\.id))
        bindings.byName[ByteKey(event)] = list.filter { all.contains($0.id) || $0.isOfSequence }
        bindings.removeNeedlessLists()
        channels[channel] = bindings
        return list
    }

    package mutating func unbindAll(from channel: ChannelID) -> [Binding] {
        guard let old = channels[channel] else { return [] }
        var bindings = old
        bindings.all.removeAll { !$0.isOfSequence }
        bindings.byName = bindings.byName.mapValues { $0.filter(\.isOfSequence) }
        bindings.removeNeedlessLists()
        channels[channel] = bindings
        return old.everything
    }

    // MARK: Routing

    /// Returns the route of `event` and of events like it.
    package mutating func route(of event: RealtimeEvent, on channel: ChannelID?) -> Route {
        let version = version.value
        guard let channel else { return Route(version: version, channel: nil, name: nil, global: global, bound: []) }
        if let route = routes[channel], route.isValid(for: event, on: channel, version: version) { return route }
        guard let bindings = channels[channel] else {  // a channel that is gone gets no events
            return Route(version: version, channel: channel, name: nil, global: [], bound: [])
        }
        guard let index = bindings.byName.index(forKey: event.nameKey) else {
            return Route(version: version, channel: channel, name: nil, global: global, bound: bindings.all)
        }
        let (name, bound) = bindings.byName[index]  // keep the name's own bytes: those of the event need not live on
        let route = Route(version: version, channel: channel, name: name, global: global, bound: bound)
        routes[channel] = route
        return route
    }

    private mutating func makeBinding(_ isOfSequence: Bool, _ handler: @escaping Handler) -> Binding {
        lastBinding += 1
        return Binding(id: BindingID(number: lastBinding), isOfSequence: isOfSequence, handler: handler)
    }
}
