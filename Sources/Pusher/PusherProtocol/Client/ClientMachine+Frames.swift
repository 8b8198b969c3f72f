package import Basics
package import Realtime
package import Transport

/// Incoming frames.
extension ClientMachine {
    /// Handles the messages of one read, in order.
    package mutating func received(
        _ messages: WebSocketMessages, from id: ConnectionMachine.TransportID, now: MonotonicInstant
    ) {
        connection.heard(id, now: now)
        lastHeard = now
        var index = 0
        while index < messages.count, connection.isReceiving(from: id) {
            if let head = heads.latest, !isAnnounced {
                index = notices.append(messages, from: index, like: head)
                guard index < messages.count else { return }
                if let frame = messages.textInChunk(at: index), heads.turn(to: frame, of: messages.chunk) { continue }
            }
            received(messages, at: index, from: id, now: now)
            index += 1
        }
    }

    private mutating func received(
        _ messages: WebSocketMessages, at index: Int, from id: ConnectionMachine.TransportID, now: MonotonicInstant
    ) {
        if let range = messages.textInChunk(at: index) {
            return received(messages.chunk, range, from: id, now: now)
        }
        switch messages[index] {
        case .text(let frame): received(Array(frame), 0..<frame.count, from: id, now: now)
        case .binary(let bytes):
            reportMalformed("a binary message of \(bytes.count) bytes, which the protocol does not have")
        case .oversized(let byteCount):
            reportMalformed("a message larger than maximumMessageSize allows, of which \(byteCount) bytes were seen")
        }
    }

    private mutating func received(
        _ bytes: [UInt8], _ frame: Range<Int>, from id: ConnectionMachine.TransportID, now: MonotonicInstant
    ) {
        do throws(MalformedFrame) {
            if socketID == nil, frame.count > Self.longestHandshake {
                throw MalformedFrame(reason: "its first message has \(frame.count) bytes")
            }
            let event = try FrameParser.parse(bytes, frame)
            if socketID == nil {
                handshake(try ServerEvent(event), on: id, now: now)
            } else {
                if isAnnounced {
                    reportAnnouncement()
                    announcement = nil
                }
                if event.isOfProtocol { handle(try ServerEvent(event), now: now) } else { deliver(event, now: now) }
            }
        } catch {
            if socketID == nil {
                handshakeFailed(id, error.reason, now: now)
            } else {
                reportMalformed("a message of \(frame.count) bytes: \(error.reason)")
            }
        }
    }

    /// Whether there is an announcement. Checked for each event, so it avoids a copy.
    private var isAnnounced: Bool { if case .some = announcement { true } else { false } }

    // MARK: Before the handshake

    /// The maximum bytes of a first message. A typical server's has about 150.
    private static let longestHandshake = 1 << 16

    private mutating func handshake(
        _ event: ServerEvent, on id: ConnectionMachine.TransportID, now: MonotonicInstant
    ) {
        switch event {
        case .connectionEstablished(let newSocketID, let activityTimeout):
            socketID = newSocketID
            steps.established(now: now)
            apply(
                connection.established(
                    id, activityTimeout: activityTimeout.map { max($0, Self.shortestActivityTimeout) }, now: now),
                now: now)
            if let activityTimeout, activityTimeout < Self.shortestActivityTimeout {
                reportShortActivityTimeout(activityTimeout)
            }
            if isReadingPaused { applyReadingPause(now: now) }
            startSignIn(now: now)
            startAllSubscriptions(now: now)
        case .error(let event, let code?, let message):
            deliverError(event, message)
            end(
                id, isAlive: true, draft: .refused(code: code, message: message), code: CloseCode(rawValue: code),
                now: now)
        case .error(let event, nil, let message):
            deliverError(event, message)
            handshakeFailed(id, "it sent an error without a code (“\(message.prefix(200))”)", now: now)
        case .ping, .pong, .subscriptionSucceeded, .subscriptionFailed, .memberAdded, .memberRemoved,
            .subscriptionCount, .cacheMissed, .signedIn, .watchlist, .unknownInternal, .application:
            handshakeFailed(id, "it sent something else first", now: now)
        }
    }

    /// The shortest activity timeout that a server can set.
    private static let shortestActivityTimeout = Duration.seconds(1)

    private mutating func reportShortActivityTimeout(_ asked: Duration) {
        guard !hasReportedShortActivityTimeout else { return }
        hasReportedShortActivityTimeout = true
        report(
            PusherError(
                .serverError,
                "the server asks for a ping after \(asked / .seconds(1)) s of silence; the client waits 1 s, the least it accepts"
            ))
    }

    private mutating func handshakeFailed(
        _ id: ConnectionMachine.TransportID, _ reason: String, now: MonotonicInstant
    ) {
        end(id, isAlive: true, draft: .badHandshake(reason), code: CloseCode(rawValue: 1002), now: now)
    }

    // MARK: After the handshake

    private mutating func handle(_ event: ServerEvent, now: MonotonicInstant) {
        switch event {
        case .application(let event): deliver(event, now: now)
        case .cacheMissed(let event): cacheMissed(event)
        case .ping:
            // Pings that arrive together get one pong.
            if case .send(_, .pong) = actions.last { return }
            send(.pong)
            notices.append(RealtimeEvent(name: "pusher:ping", channel: nil, data: nil), on: nil)
        case .pong: pongReceived(now: now)
        case .subscriptionSucceeded(let event): subscriptionSucceeded(event, now: now)
        case .subscriptionFailed(let event, let reason): subscriptionFailed(event, reason: reason)
        case .memberAdded(let event): memberAdded(event)
        case .memberRemoved(let event): memberRemoved(event)
        case .subscriptionCount(let event, let count): subscriptionCountChanged(event, count)
        case .signedIn(let user): signedIn(user, now: now)
        case .watchlist(let changes): watchlistChanged(changes)
        case .error(let event, let code, let message):
            deliverError(event, message)
            serverError(code: code, message: message, channel: event.channelName, now: now)
        case .connectionEstablished(let newSocketID, _): socketID = newSocketID  // no server does this
        case .unknownInternal: break  // from a later version of the protocol; not for the application
        }
    }

    private mutating func deliver(_ event: RealtimeEvent, now: MonotonicInstant) {
        guard let entry = entry(of: event) else {
            if event.hasChannel { reportUnknownChannel(of: event) } else { notices.append(event, on: nil) }
            return
        }
        guard entry.isWanted, entry.isHeard else { return }
        let event = entry.isCached ? withOrigin(event, on: entry.id, now: now) : event
        if entry.isEncrypted {
            deliverEncrypted(event, on: entry.id, now: now)
        } else {
            if !entry.isCached, let latestKey { heads.note(event, on: entry.id, named: latestKey) }
            notices.append(event, on: entry.id)
        }
    }

    /// Delivers the protocol's only event that reaches bindings unchanged. It is never encrypted.
    private mutating func cacheMissed(_ event: RealtimeEvent) {
        guard let (_, entry, _) = channel(of: event), entry.isWanted, entry.isHeard else { return }
        channels[entry.id]?.cache.missed()
        notices.append(event, on: entry.id)
    }

    private mutating func withOrigin(
        _ event: RealtimeEvent, on id: EventRouter.ChannelID, now: MonotonicInstant
    ) -> RealtimeEvent {
        let name = event.eventName
        guard !name.utf8.starts(with: "client-".utf8), !name.utf8.starts(with: "pusher:".utf8),
            let origin = channels[id]?.cache.origin(of: event, now: now)
        else { return event }
        return origin == .live ? event : event.withOrigin(origin)
    }

    package mutating func pongReceived(now: MonotonicInstant) {
        guard let sentAt = pingSentAt else { return }
        pingSentAt = nil
        notices.append(.pingAnswered(after: now - sentAt))
    }

    private mutating func subscriptionCountChanged(_ event: RealtimeEvent, _ count: Int) {
        guard let (_, entry, _) = channel(of: event), entry.isWanted, entry.isHeard else { return }
        channels[entry.id]?.subscriptionCount = count
        notices.append(.subscriptionCount(entry.id, count))
        notices.append(event.renamed("pusher:subscription_count"), on: entry.id)
    }

    private mutating func entry(of event: RealtimeEvent) -> Entry? {
        if let latestKey, event.isOn(latestKey) { return latestEntry }
        guard let key = event.channelKey, let index = entries.index(forKey: key) else { return nil }
        latestKey = entries[index].key  // the key's own bytes, so that those of the event can be released
        latestEntry = entries[index].value
        return latestEntry
    }

    /// Delivers an error to bindings unchanged, as in older versions, except for signed data in its text.
    private mutating func deliverError(_ event: RealtimeEvent, _ message: String) {
        let event = Self.withoutSignedText(event, message)
        let entry = event.channelKey.flatMap { entries[$0] }
        notices.append(event, on: entry.flatMap { $0.isWanted ? $0.id : nil })
    }

    private static func withoutSignedText(_ event: RealtimeEvent, _ message: String) -> RealtimeEvent {
        let words = withoutSignedText(message)
        guard words.utf8.count < message.utf8.count, var data = event.data.flatMap(JSON.object) else { return event }
        data["message"] = words
        return JSON.text(data).map { event.withData(Array($0.utf8)) } ?? event
    }

    /// Once connected an error never changes the state; only a close does.
    private mutating func serverError(code: Int?, message: String, channel: String?, now: MonotonicInstant) {
        let text = message.isEmpty ? code.map { CloseCode(rawValue: $0).meaning } ?? "no reason given" : message
        let words = Self.withoutSignedText(text)
        let request = channel.map { .subscription(ByteKey($0)) } ?? refusedRequest(code: code, message: message)
        // The channel's failure already reports the refusal; don't report it twice.
        if case .subscription(let key) = request, subscriptionRefused(key, code: code, reason: words) { return }
        let error = PusherError(
            .serverError, code: code, "the server reports: \(words.prefix(500))", channelName: request?.channelName)
        if let code, code >= 4000, channel == nil {
            announcement = Announcement(
                code: code, message: words, draft: .announced(code: code, message: words), error: error,
                deadline: now + Announcement.patience)
        } else {
            report(error)
        }
        switch request {
        case .subscription: break  // it was not pending
        case .signIn: signInRefused(reason: words, now: now)
        case nil where code == 4009: signInRefused(reason: words, now: now)
        // It may still refuse a subscription, which then gets no answer. Codes from 4300 on concern other things.
        case nil: if code ?? 0 < 4300 { someSubscriptionMayBeRefused() }
        }
    }

    /// Returns the request that the server refuses with an error without a code: the one named in its text, or else the
    /// oldest pending one, since a server answers in order.
    private func refusedRequest(code: Int?, message: String) -> SignedRequests.Request? {
        guard code == nil, let oldest = signedRequests.oldest else { return nil }
        if let socketID, let signed = message.firstRange(of: "\(socketID.string):")?.upperBound {
            return signedRequests.named(by: message[signed...].utf8)
        }
        let isAboutSignature = ["Invalid signature", "Invalid key in subscription auth data", "Auth info required"]
            .contains { message.hasPrefix($0) }
        return isAboutSignature || signedRequests.isForSignInAlone ? oldest : nil
    }

    /// Removes signed text: servers quote the text that they expected to be signed, which contains the application's
    /// user data.
    private static func withoutSignedText(_ text: String) -> String {
        text.firstRange(of: "Invalid signature").map { String(text[..<$0.upperBound]) } ?? text
    }

    /// Reports an announced error whose close did not follow.
    mutating func reportAnnouncement() {
        guard let announcement, !announcement.isReported else { return }
        self.announcement?.isReported = true
        // Some servers refuse a signature with the code of a refused connection, and keep the connection open.
        if announcement.code == 4009, socketID != nil, case .subscription(let key) = signedRequests.oldest,
            subscriptionRefused(key, code: announcement.code, reason: announcement.message)
        {
            return
        }
        report(announcement.error)
    }

    private mutating func reportMalformed(_ what: String) {
        report(PusherError(.malformedMessage, "ignored \(what)"))
    }

    /// Reports the name once per connection, unless its channel was just left.
    mutating func reportUnknownChannel(of event: RealtimeEvent) {
        guard let key = event.channelKey else {
            reportMalformed("\(event.eventName.prefix(200)) without a channel")
            return
        }
        let words: String
        switch unknownChannels.note(key) {
        case .known: return
        case .new: words = "ignored an event of a channel that is not subscribed"
        case .invalid:
            words = "ignored an event of a channel whose name is not valid; others are not reported"
        case .tooMany:
            words = "ignored events of too many channels that are not subscribed; others are not reported"
        }
        report(PusherError(.unknownChannel, words, channelName: event.channelName.map { String($0.prefix(200)) }))
    }
}
