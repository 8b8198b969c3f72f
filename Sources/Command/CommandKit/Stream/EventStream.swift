import Basics
package import Dispatch
package import Foundation
package import PusherSwift

/// Writes the events of a client, accounts and workspaces to standard output until there is a reason to stop.
///
/// One queue writes lines in order. If the reader is slow, callbacks block, nothing more is read or requested, and
/// memory use stays bounded.
package final class EventStream: PusherDelegate {
    /// The kinds of output on each stream.
    package enum Mode: Sendable {
        /// Only events; everything else goes to standard error.
        case events(named: Set<String>)
        /// All records.
        case everything
    }

    /// The queue for all reports, so that those of several sources arrive one by one.
    package static let queue = DispatchQueue(label: "pusher-cli.events")

    private let pusher: Pusher?
    private let feeds: [any Feed]
    private let mode: Mode
    private let options: StreamOptions
    private let form: StreamForm
    private let state: Lock<EventStreamState>

    /// - Parameters:
    ///   - pusher: The client; `nil` if there are only feeds.
    ///   - feeds: Further accounts and workspaces.
    ///   - form: The output form; `nil` uses the options.
    package init(
        pusher: Pusher? = nil, channels: [String] = [], as user: UserOptions? = nil, feeds: [any Feed] = [], mode: Mode,
        options: StreamOptions, form: StreamForm? = nil
    ) {
        self.pusher = pusher
        self.feeds = feeds
        self.mode = mode
        self.options = options
        self.form = form ?? options.form()
        let sides = (pusher == nil ? [] : [.pusher]) + feeds.indices.map { EventStreamState.Side.feed($0) }
        state = Lock(EventStreamState(sides: sides, channels: channels, count: options.count))
        if let pusher { bind(pusher, channels, as: user) }
    }

    private func bind(_ pusher: Pusher, _ channels: [String], as user: UserOptions?) {
        pusher.delegate = self
        if user?.signIn == true { bindUser(of: pusher) }
        pusher.bind { [weak self] event in self?.received(event) }
        for channel in channels {
            pusher.subscribe(
                channel,
                onMemberAdded: { [weak self] member in self?.tell(.memberAdded(channel: channel, member)) },
                onMemberRemoved: { [weak self] member in self?.tell(.memberRemoved(channel: channel, member)) }
            ).onGap = { [weak self] gap in self?.tell(.gap(gap)) }
        }
    }

    private func bindUser(of pusher: Pusher) {
        state.withLock { $0.isSigningIn = true }
        pusher.user.bind(eventName: "pusher:signin_success") { [weak self, weak pusher] _ in
            self?.state.withLock { $0.isSigningIn = false }
            self?.tell(.signedIn(userID: pusher?.user.userId ?? ""))
        }
        pusher.user.watchlist.bind { [weak self] event in self?.tell(.watchlist(event)) }
        pusher.user.bind(eventName: "pusher:signin_error") { [weak self] _ in
            guard let self else { return }
            // The error was reported just before.
            let (isHopeless, status) = state.withLock { state in
                let status = state.lastErrors[.pusher]?.exitStatus ?? .refused
                state.isSigningIn = false
                state.trouble = state.trouble.worse(status)
                return (state.hopes.isEmpty, status)
            }
            if isHopeless, feeds.isEmpty { leave(status) }  // nothing else is pending
        }
        pusher.user.signIn()
    }

    /// Connects and prints events. Closes the connection and returns when there is a reason to stop.
    package func run() async -> ExitStatus {
        // An endless command counts as done when the user stops it.
        let isEndless = options.count == nil && options.timeout == nil
        let signals = SignalWatch(taking: form.isSlowToFinish ? .max : 1) { [weak self] in
            guard let self else { return }
            if state.withLock({ $0.outcome != nil }) { return form.end() }
            let isDone = isEndless && state.withLock { $0.hasEverListened }
            leave(isDone ? .done : .interrupted)
        }
        let timers = startTimers()
        waitForRest()
        pusher?.connect()
        for (index, feed) in feeds.enumerated() {
            feed.start { [weak self] in
                self?.received($0, fromFeed: index)
            } failed: { [weak self] in
                self?.fail($0)
            }
        }
        let status = await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
        form.stop()
        timers.forEach { $0.cancel() }
        for feed in feeds { feed.close() }
        await close()
        // No further reports follow.
        if status == .interrupted { StandardError.complain(CommandFailure.interrupted) }
        let formStatus = await form.finish()
        for feed in feeds { await feed.finish() }
        signals.cancel()
        return status.worse(state.withLock { $0.trouble }).worse(formStatus)
    }

    /// Stops the stream on the user's request.
    package func end() { leave(.done) }

    /// Stops the stream. Only the first reason counts.
    private func leave(_ status: ExitStatus) {
        let waiter = state.withLock { state in
            if state.outcome == nil { state.outcome = status }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: status)
    }

    /// Reports only the first failure, because two time limits may end at once.
    private func fail(_ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed && state.outcome == nil
        }
        guard isFirst else { return }
        StandardError.complain(error)
        leave((error as? any ReportableError)?.exitStatus ?? .unavailable)
    }

    /// Closes the connection, waiting only a moment for the server.
    private func close() async {
        guard let pusher else { return }
        let states = pusher.connection.states
        pusher.unbindAll()
        pusher.disconnect()
        for await state in states where state == .disconnected { break }
    }

    private func startTimers() -> [any DispatchSourceTimer] {
        let limit = options.connectTimeout > 0 ? options.connectTimeout : nil
        return [
            options.timeout.map { seconds in timer(seconds) { $0.timeIsOver(after: seconds) } },
            limit.map { seconds in timer(seconds) { $0.connectTimeIsOver() } },
        ].compactMap { $0 }
    }

    private func timer(
        _ seconds: Double, _ fire: @escaping @Sendable (EventStream) -> Void
    ) -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { [weak self] in self.map(fire) }
        timer.schedule(deadline: .now() + seconds)
        timer.resume()
        return timer
    }

    private func timeIsOver(after seconds: Double) {
        OutputPatience.limitWrites()
        let (awaited, isAll) = state.withLock { ($0.awaited, $0.awaited.count == $0.sides.count) }
        if isAll || isHopeless(awaited) || options.count == nil && !awaited.isEmpty {
            giveUpConnecting(after: seconds)
        } else {
            giveUpSubscribing(after: seconds)
            leave(options.count == nil ? .done : .timedOut)
        }
    }

    /// Reports channels that were never subscribed.
    private func giveUpSubscribing(after seconds: Double) {
        let (channels, isSigningIn, last) = state.withLock { state in
            let channels = state.unheard.intersection(state.hopes)
            if !channels.isEmpty || state.isSigningIn { state.trouble = state.trouble.worse(.unavailable) }
            return (channels.sorted(), state.isSigningIn, state.lastErrors[.pusher])
        }
        func complain(_ what: String) {
            let reason = last?.message ?? "the server did not answer"
            StandardError.complain(
                CommandFailure(.unavailable, "\(what) within \(Seconds.text(seconds)): \(reason)"))
        }
        if !channels.isEmpty {
            complain("\(channels.inWords()) \(channels.count == 1 ? "was" : "were") not subscribed")
        }
        if isSigningIn { complain("the sign-in did not succeed") }
    }

    /// Gives up on a feed only if it is failing and has never connected: the first sync of a large account, for
    /// example, may take long.
    private func connectTimeIsOver() {
        let awaited = state.withLock { state in
            state.isImpatient = true
            return state.awaited
        }
        if isHopeless(awaited) { giveUpConnecting(after: options.connectTimeout) }
    }

    private func isHopeless(_ awaited: Set<EventStreamState.Side>) -> Bool {
        awaited.contains { side in
            switch side {
            case .pusher: true
            case .feed(let index): feeds[index].isFailing
            }
        }
    }

    private func giveUpConnecting(after seconds: Double) {
        let reason = state.withLock { $0.reasonOfWait }?.message ?? "the server did not answer"
        fail(CommandFailure(.unavailable, "no connection within \(Seconds.text(seconds)): \(reason)"))
    }

    // MARK: Events, on the callback queue

    private func received(_ event: PusherEvent) {
        if event.eventName == "pusher:subscription_succeeded", case .everything = mode {
            print(.subscribed(to: event))
        }
        guard !event.eventName.hasPrefix("pusher:") else { return }  // other records cover these
        if case .events(let names) = mode, !names.isEmpty, !names.contains(event.eventName) { return }
        print(.event(event))
        count()
    }

    private func received(_ report: FeedReport, fromFeed index: Int) {
        let feed = feeds[index]
        guard state.withLock({ $0.outcome == nil }) else {
            // Otherwise its owner would wait forever.
            if case .news(let news) = report { _ = news.answer?(.notBegun) }
            return
        }
        do throws(CommandFailure) {
            switch report {
            case .event(let event):
                if let news = try feed.news(of: event, forPeople: form.isForPeople) {
                    tell(news, of: event, ofFeed: index)
                }
            case .news(let news): tell(news, ofFeed: index)
            case .reached(let position): feed.reached(position)
            case .state(let state):
                if let news = try feed.news(of: state) { tell(news, ofFeed: index) }
            case .gap(let gap):
                guard feed.wants(gap) else { return }
                tell(.gap(PusherGap(gap)))
            case .failed(let failure): failed(failure, ofFeed: index)
            }
        } catch {
            fail(error)
        }
    }

    private func tell(_ news: FeedNews, of event: RealtimeEvent? = nil, ofFeed index: Int) {
        if news.isConnected, state.withLock({ $0.awaited.remove(.feed(index)) }) != nil { waitForRest() }
        if case .events = mode, case .state(_, let to, _) = news.record { return tellState(to, ofFeed: index) }
        let isWritten = print(news.record, answer: news.answer)
        // Before counting, which may end the command: what was written must be recorded by then.
        if isWritten, let event { feeds[index].wrote(event) }
        for warning in news.warnings { StandardError.write("warning: \(warning)") }
        if news.counts { count() }
    }

    /// Reports the connection's state on standard error if only events are printed.
    private func tellState(_ new: ConnectionState, ofFeed index: Int) {
        switch new {
        case .connected:
            let isFirst = state.withLock { state in
                defer { state.hasListened = true }
                return !state.hasListened
            }
            StandardError.write("connected \(isFirst ? "to \(feeds[index].serverName)" : "again")")
        case .reconnecting: StatusLine.wait(for: "the connection to come back")
        case .connecting, .disconnecting, .disconnected: break
        }
    }

    private func failed(_ failure: SourceFailure, ofFeed index: Int) {
        let error = PusherError(failure)
        if state.withLock({ $0.awaited.contains(.feed(index)) }) { explainWait(for: .feed(index), error) }
        if feeds[index].isNew(failure) { complain(error) }
        if !failure.willRetry {
            if let status = feeds[index].end(by: failure) { leave(status) }
        } else if state.withLock({ $0.isImpatient && $0.awaited.contains(.feed(index)) }) {
            giveUpConnecting(after: options.connectTimeout)
        }
    }

    private func count() {
        let isLast = state.withLock { state -> Bool in
            guard let remaining = state.remaining else { return false }
            state.remaining = remaining - 1
            return remaining == 1
        }
        if isLast { leave(.done) }
    }

    /// Prints a record that appears only in ``Mode/everything``.
    private func tell(_ record: Record) {
        if case .everything = mode { print(record) }
    }

    package func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        switch mode {
        case .everything:
            print(.state(from: old, to: new, socketID: new == .connected ? pusher?.connection.socketId : nil))
        case .events: break
        }
        let end = state.withLock { state -> ExitStatus? in
            if new == .connected {
                state.awaited.remove(.pusher)
                state.lastErrors[.pusher] = nil  // it concerned this attempt
            }
            if new == .reconnecting { state.unsettled = state.hopes }
            guard new == .disconnected, state.outcome == nil else { return nil }
            return state.lastErrors[.pusher]?.exitStatus ?? .unavailable
        }
        if new == .connected { waitForRest() }
        if new == .reconnecting { StatusLine.wait(for: "the connection to come back") }
        if let end { leave(end) }  // not requested: refused for good
    }

    package func subscribedToChannel(name: String) {
        // The reader of the line may interrupt at once: the subscription must be recorded by then.
        state.withLock { _ = $0.unheard.remove(name) }
        settle(name)
    }

    /// Reports the subscribed channels once all results are known.
    private func settle(_ channel: String) {
        let server = serverName
        let (isLast, news) = state.withLock { state -> (Bool, String?) in
            guard state.unsettled.remove(channel) != nil, state.unsettled.isEmpty else { return (false, nil) }
            guard !state.hopes.isEmpty, state.outcome == nil else { return (true, nil) }
            defer { state.hasListened = true }
            return (true, state.hasListened ? "again" : "to \(state.hopes.sorted().inWords()) on \(server)")
        }
        if isLast { waitForRest() }
        switch mode {
        case .everything: break
        case .events: if let news { StandardError.write("listening \(news)") }
        }
    }

    /// Shows on a terminal what is still pending, after the connection, which comes first.
    private func waitForRest() {
        guard pusher.map({ $0.connection.connectionState == .connected }) ?? true else { return }
        let (awaited, channels) = state.withLock { ($0.firstAwaited, $0.unsettled.sorted()) }
        switch awaited {
        case .pusher: return  // shown elsewhere
        case .feed(let index) where channels.isEmpty:
            StatusLine.wait(for: "the answer of \(feeds[index].serverName)")
        case nil where channels.isEmpty: StatusLine.endWait()
        case .feed, nil:
            let what = channels.count == 1 ? "the subscription of \(channels[0])" : "\(channels.count) subscriptions"
            StatusLine.wait(for: "\(what)")
        }
    }

    /// The server's `host:port`.
    private var serverName: String { pusher.flatMap { URL(string: $0.connection.url)?.serverName } ?? "the server" }

    package func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        guard let error = error?.userInfo[NSUnderlyingErrorKey] as? PusherError else { return }
        complain(error)
        guard !error.willRetry else { return }
        let isHopeless = state.withLock { state -> Bool in
            state.hopes.remove(name)
            state.trouble = state.trouble.worse(error.exitStatus)
            return state.hopes.isEmpty
        }
        if isHopeless, feeds.isEmpty { leave(error.exitStatus) } else { settle(name) }
    }

    package func receivedError(error: PusherError) {
        explainWait(for: .pusher, error)
        complain(error)
    }

    /// Keeps the error as the reason for a wait.
    private func explainWait(for side: EventStreamState.Side, _ error: PusherError) {
        guard error.explainsWait else { return }
        let isShown = state.withLock { state in
            state.lastErrors[side] = error
            return side == .pusher || state.unsettled.isEmpty && state.firstAwaited == side
        }
        if isShown { StatusLine.explainWait("\(Complaint.text(error.message))") }
    }

    private func complain(_ error: PusherError) {
        switch mode {
        case .everything: print(.error(error))
        case .events: StandardError.complain(error)
        }
    }

    @discardableResult
    private func print(_ record: Record, answer: EventAnswer? = nil) -> Bool {
        guard state.withLock({ $0.outcome == nil }) else {
            _ = answer?(.notBegun)
            return false
        }
        let isWritten = form.write(record, answer: answer)
        if !isWritten { leave(.done) }  // the reader is done
        return isWritten
    }
}
