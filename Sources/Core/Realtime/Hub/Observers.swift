import Basics

/// Observers of all notices except events: sequences of errors, states and the like, and callers that wait for an
/// outcome.
struct Observers<Notice: Sendable>: Sendable {
    /// Observers of a channel get only notices that concern it, and end with it.
    struct Observer: Sendable {
        let id: ID
        /// `nil` for an observer that only needs to know the end.
        let onNotice: (@Sendable (Notice) -> Void)?
        let onEnd: @Sendable () -> Void
    }

    struct ID: Hashable, Sendable {
        let channel: EventRouter.ChannelID?
        let number: Int
    }

    /// The observers of each channel, in order; those of everything are stored under nil.
    private var observers: [EventRouter.ChannelID?: [Observer]] = [:]
    private var last = 0

    var isEmpty: Bool { observers.values.allSatisfy(\.isEmpty) }

    var all: [Observer] { observers.values.flatMap { $0 } }

    /// The observers of a notice that concerns `channel`: observers of everything first.
    subscript(channel: EventRouter.ChannelID?) -> [Observer] {
        let everywhere = observers[nil] ?? []
        return channel == nil ? everywhere : everywhere + (observers[channel] ?? [])
    }

    mutating func add(
        _ channel: EventRouter.ChannelID?, onNotice: (@Sendable (Notice) -> Void)? = nil,
        onEnd: @escaping @Sendable () -> Void
    ) -> ID {
        last += 1
        let id = ID(channel: channel, number: last)
        observers[channel, default: []].append(Observer(id: id, onNotice: onNotice, onEnd: onEnd))
        return id
    }

    /// Returns the removed observers, to be released without a lock held.
    mutating func remove(_ id: ID) -> [Observer] {
        let removed = observers[id.channel]?.filter { $0.id == id } ?? []
        observers[id.channel]?.removeAll { $0.id == id }
        return removed
    }

    /// Returns the removed observers, to be ended without a lock held.
    mutating func removeAll(of channel: EventRouter.ChannelID) -> [Observer] {
        observers.removeValue(forKey: channel) ?? []
    }
}

extension EventHub {
    func tellObservers(of notice: Notice) {
        for observer in state.withLock({ $0.observers[notice.channel] }) { observer.onNotice?(notice) }
    }
}
