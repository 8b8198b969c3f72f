import Basics
import Realtime

/// Events of encrypted channels (Pusher protocol, "Encrypted channels").
///
/// For an event that the channel's key cannot decrypt, the client asks the application's server once for a newer key.
/// Until the answer arrives, the channel's later events wait behind it; other channels continue.
extension ClientMachine {
    mutating func deliverEncrypted(_ event: RealtimeEvent, on id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard let isWaiting = channels[id].map({ !$0.sealed.isEmpty }) else { return }
        guard isWaiting || !open(event, on: id) else { return }
        guard isWaiting || !isKeyPaused(for: id, now: now) else {
            return undecryptable(event, on: id, Self.noKeyOpensIt)
        }
        guard channels[id]?.sealed.append(event, upTo: configuration.maximumSealedBytes) == true else {
            return undecryptable(event, on: id, "too many bytes of events wait for a newer key")
        }
        if !isWaiting { askForKey(of: id, now: now) }
    }

    /// Delivers the event, or reports that it can never be decrypted. Returns false if a newer key may decrypt it.
    private mutating func open(_ event: RealtimeEvent, on id: EventRouter.ChannelID) -> Bool {
        guard let key = channels[id]?.key else { return false }
        do throws(ChannelKey.Failure) {
            notices.append(event.withData(try key.decrypt(event.dataBytes)), on: id)
        } catch {
            switch error {
            case .malformed: undecryptable(event, on: id, "its data is not an encrypted text")
            case .wrongKey: return false
            }
        }
        return true
    }

    /// Decrypts the waiting events in order, up to one that still needs a newer key.
    mutating func openSealed(on id: EventRouter.ChannelID, now: MonotonicInstant) {
        while let event = channels[id]?.sealed.first {
            let isOpened = open(event, on: id)
            guard isOpened || isKeyPaused(for: id, now: now) else { return askForKey(of: id, now: now) }
            if !isOpened { undecryptable(event, on: id, Self.noKeyOpensIt) }
            channels[id]?.sealed.removeFirst()
        }
    }

    /// Drops the events that waited for a key that could not be obtained.
    mutating func dropSealed(on id: EventRouter.ChannelID) {
        guard let events = channels[id]?.sealed.takeAll() else { return }
        for event in events { undecryptable(event, on: id, "the channel's key could not be had") }
    }

    private mutating func undecryptable(_ event: RealtimeEvent, on id: EventRouter.ChannelID, _ reason: String) {
        notices.append(.decryptionFailed(id, event.detached()))
        report(
            PusherError(
                .decryptionFailed,
                "event \(event.eventName.prefix(200)) cannot be decrypted and was dropped: \(reason)",
                channelName: event.channelName))
    }

    // MARK: A newer key

    private mutating func askForKey(of id: EventRouter.ChannelID, now: MonotonicInstant) {
        channels[id]?.keyRequest = .queued
        authorizations.enqueue(id)
        authorizeWaiting(now: now)
    }

    /// Retries the event that caused the request once more, whatever the answer.
    mutating func keyAnswered(
        _ id: EventRouter.ChannelID, _ answer: Result<AuthAnswer, AuthFailure>, now: MonotonicInstant
    ) {
        channels[id]?.keyRequest = .none
        var reason = Self.noKeyOpensIt
        switch answer {
        case .success(let answer): if let key = answer.channelKey { channels[id]?.key = key }
        case .failure(let failure): reason = "asked for a newer key, \(failure.reason)"
        }
        guard let event = channels[id]?.sealed.first else { return }
        channels[id]?.sealed.removeFirst()
        if !open(event, on: id) {
            undecryptable(event, on: id, reason)
            pauseKeyRequests(of: id, now: now)
        }
        openSealed(on: id, now: now)
    }

    private static let noKeyOpensIt = "no key of the auth endpoint opens it"
    private static let longestKeyPause = Duration.seconds(60)

    /// Pauses requests for a newer key, so that undecryptable events don't make the client query the endpoint
    /// endlessly. Pauses that follow each other closely grow.
    private mutating func pauseKeyRequests(of id: EventRouter.ChannelID, now: MonotonicInstant) {
        var length = Duration.zero  // no pause the first time: the key may just have changed
        if let last = channels[id]?.keyPause, now - last.until < Self.longestKeyPause {
            length = min(max(last.length * 2, configuration.authRetryDelay), Self.longestKeyPause)
        }
        channels[id]?.keyPause = ChannelMachine.KeyPause(until: now + length, length: length)
    }

    private func isKeyPaused(for id: EventRouter.ChannelID, now: MonotonicInstant) -> Bool {
        channels[id]?.keyPause.map { now < $0.until } ?? false
    }

    mutating func cancelKeyRequest(of id: EventRouter.ChannelID) {
        if case .underWay(let request) = channels[id]?.keyRequest {
            _ = authorizations.end(request)
            actions.append(.cancelAuthorization(request))
        }
        channels[id]?.keyRequest = .none
    }
}
