package import Basics
package import Realtime

/// The channels that the application wants. Its last intent wins, whatever is pending.
extension ClientMachine {
    /// Subscribes, now or after the next handshake. Retries a channel that failed; doesn't change one that is
    /// subscribed or subscribing.
    ///
    /// - Parameter auth: A signature that the application already has, valid for one attempt.
    /// - Returns: The channel's id, and whether it is a new one.
    package mutating func subscribe(
        to name: ChannelName, auth: AuthAnswer? = nil, now: MonotonicInstant
    ) -> (id: EventRouter.ChannelID, isNew: Bool) {
        let key = ByteKey(name.string)
        guard let entry = entries[key] else {
            let id = makeChannelID()
            entries[key] = Entry(id: id, name: name, isHeard: !unknownChannels.contains(key))
            channels[id] = ChannelMachine(name: name, id: id, givenAuth: auth)
            startSubscription(id, now: now)
            return (id, true)
        }
        guard entry.isWanted else { return (rejoin(entry, key), true) }
        switch channels[entry.id]?.state {
        case .failed(let mayBeSubscribed):
            if mayBeSubscribed {
                send(.unsubscribe(name))  // a slow server would see the next frame as a second subscription
                entries[key]?.isHeard = false
            }
            channels[entry.id]?.givenAuth = auth
            startSubscription(entry.id, now: now)
        case .idle, .queued, .retrying:
            guard let auth else { break }
            channels[entry.id]?.givenAuth = auth
            startSubscription(entry.id, now: now)
        case .authorizing, .awaitingUser, .subscribing, .subscribed, .leaving, nil: break
        }
        return (entry.id, false)
    }

    /// Unsubscribes, or cancels a pending subscription. Ignores unknown names.
    ///
    /// - Returns: The id of the removed channel.
    package mutating func unsubscribe(from name: String, now: MonotonicInstant) -> EventRouter.ChannelID? {
        let key = ByteKey(name)
        guard let entry = entries[key], entry.isWanted, let channel = channels[entry.id],
            channel.name.kind != .serverToUser
        else { return nil }
        unknownChannels.left(key)
        discardClientEvents(of: entry.id)
        cancelKeyRequest(of: entry.id)
        switch channel.state {
        case .subscribing(let deadline):
            entries[key]?.isWanted = false
            channels[entry.id]?.state = .leaving(deadline: deadline)
            channels[entry.id]?.sealed = SealedEvents()
        case .authorizing(let request):
            _ = authorizations.end(request)
            actions.append(.cancelAuthorization(request))
            forget(entry.id, key)
        case .subscribed, .failed(mayBeSubscribed: true):
            send(.unsubscribe(channel.name))
            forget(entry.id, key)
        case .idle, .queued, .retrying, .awaitingUser, .failed(mayBeSubscribed: false), .leaving:
            forget(entry.id, key)
        }
        authorizeWaiting(now: now)
        return entry.id
    }

    /// Reverts an unsubscription that could not be sent yet. The new channel takes over the pending subscription, but
    /// not the events that the old one has missed or received.
    private mutating func rejoin(_ old: Entry, _ key: ByteKey) -> EventRouter.ChannelID {
        let id = makeChannelID()
        if let former = channels.removeValue(forKey: old.id), case .leaving(let deadline) = former.state {
            var channel = ChannelMachine(name: former.name, id: id, givenAuth: nil)
            channel.state = .subscribing(deadline: deadline)
            channel.myID = former.myID
            channel.key = former.key
            channels[id] = channel
            subscriptionDeadlines.set(deadline, for: id)
        }
        entries[key]?.id = id
        entries[key]?.isWanted = true
        return id
    }

    mutating func forget(_ id: EventRouter.ChannelID, _ key: ByteKey) {
        cancelKeyRequest(of: id)
        channels[id] = nil
        entries[key] = nil
    }

    private mutating func makeChannelID() -> EventRouter.ChannelID {
        lastChannel += 1
        return EventRouter.ChannelID(number: lastChannel)
    }

    // MARK: State

    /// The names of all wanted channels, in order of subscription.
    package var channelNames: [String] {
        channels.values.filter { $0.isWanted && $0.name.kind != .serverToUser }.sorted { $0.id < $1.id }
            .map(\.name.string)
    }

    /// Returns the channel of this name, if it is wanted.
    package func channelID(named name: String) -> EventRouter.ChannelID? {
        entries[ByteKey(name)].flatMap { $0.isWanted ? $0.id : nil }
    }

    package func isSubscribed(_ id: EventRouter.ChannelID) -> Bool { channels[id]?.isSubscribed ?? false }

    /// Returns the reason why the channel is neither subscribed nor subscribing; `nil` if it is.
    package func failure(of id: EventRouter.ChannelID) -> PusherError? {
        if case .failed = channels[id]?.state { channels[id]?.failure } else { nil }
    }

    /// Returns whether the channel is subscribed or subscribing on this connection.
    package func isSubscribing(_ id: EventRouter.ChannelID) -> Bool {
        switch channels[id]?.state {
        case .queued, .authorizing, .retrying, .awaitingUser, .subscribing, .subscribed: true
        case .idle, .failed, .leaving, nil: false
        }
    }

    package func isWanted(_ id: EventRouter.ChannelID) -> Bool { channels[id]?.isWanted ?? false }

    package func members(of id: EventRouter.ChannelID) -> PresenceMembers { channels[id]?.members ?? PresenceMembers() }

    package func subscriptionCount(of id: EventRouter.ChannelID) -> Int? { channels[id]?.subscriptionCount }

    package func myID(on id: EventRouter.ChannelID) -> String? { channels[id]?.myID }

    package func unsentEvents(of id: EventRouter.ChannelID) -> [(event: String, data: String)] {
        channels[id]?.unsent ?? []
    }
}
