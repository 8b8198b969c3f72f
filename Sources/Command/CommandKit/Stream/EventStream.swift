import Basics
package import Dispatch
package import Foundation
package import PusherSwift

/// A client, accounts and workspaces whose events go to standard output until there is a reason to leave.
///
/// Lines are written from one queue, in order. If nobody takes them, callbacks wait, nothing more is read or asked for, and
/// memory stays bounded.
package final class EventStream: PusherDelegate {
    /// What is printed where.
    package enum Mode: Sendable {
        /// Events alone; everything else goes to standard error.
        case events(named: Set<String>)
        /// Everything that happens.
        case everything
    }

    /// Where everything is told, so that what comes of several sources comes one by one.
    package static let queue = DispatchQueue(label: "pusher-cli.events")

    private let pusher: Pusher?
    private let feeds: [any Feed]
    private let mode: Mode
    private let options: StreamOptions
    private let form: StreamForm
    private let state: Lock<EventStreamState>

    /// - Parameters:
    ///   - pusher: Nil for feeds alone.
    ///   - feeds: Accounts and workspaces whose events come as well.
    ///   - form: Nil is what the options say.
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
            // The error has come just before.
            let (isHopeless, status) = state.withLock { state in
                let status = state.lastErrors[.pusher]?.exitStatus ?? .refused
                state.isSigningIn = false
                state.trouble = state.trouble.worse(status)
                return (state.hopes.isEmpty, status)
            }
            if isHopeless, feeds.isEmpty { leave(status) }  // there is nothing else to wait for
        }
        pusher.user.signIn()
    }

    /// Connects, prints, and returns when it is time to leave; the connection is closed then.
    package func run() async -> ExitStatus {
        // What has no end is done when somebody stops it.
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
        // Nothing more is told of what went on.
        if status == .interrupted { StandardError.complain(CommandFailure.interrupted) }
        let formStatus = await form.finish()
        for feed in feeds { await feed.finish() }
        signals.cancel()
        return status.worse(state.withLock { $0.trouble }).worse(formStatus)
    }

    /// Somebody has seen enough.
    package func end() { leave(.done) }

    /// The first reason to leave counts.
    private func leave(_ status: ExitStatus) {
        let waiter = state.withLock { state in
            if state.outcome == nil { state.outcome = status }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: status)
    }

    /// Only the first failure is reported: two time limits may end at once.
    private func fail(_ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed && state.outcome == nil
        }
        guard isFirst else { return }
        StandardError.complain(error)
        leave((error as? any ReportableError)?.exitStatus ?? .unavailable)
    }

    /// Says goodbye to the server, for a moment at most.
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

    /// What was never subscribed was never listened to.
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

    /// A homeserver may take its time over the first sync of a large account, and so may others; only a feed that fails,
    /// and that nothing has come about of, is given up.
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

    // MARK: What happens, on the callback queue

    private func received(_ event: PusherEvent) {
        if event.eventName == "pusher:subscription_succeeded", case .everything = mode {
            print(.subscribed(to: event))
        }
        guard !event.eventName.hasPrefix("pusher:") else { return }  // records of other kinds
        if case .events(let names) = mode, !names.isEmpty, !names.contains(event.eventName) { return }
        print(.event(event))
        count()
    }

    private func received(_ report: FeedReport, fromFeed index: Int) {
        let feed = feeds[index]
        guard state.withLock({ $0.outcome == nil }) else {
            // Who waits for what becomes of it would wait on.
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
        // Before it is counted: that may end the command, and what was written is noted then.
        if isWritten, let event { feeds[index].wrote(event) }
        for warning in news.warnings { StandardError.write("warning: \(warning)") }
        if news.counts { count() }
    }

    /// Where events alone are printed, whoever waits for them still learns that there are none to be had.
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

    /// Prints what only those see who want to see everything.
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
                state.lastErrors[.pusher] = nil  // it was about the way here
            }
            if new == .reconnecting { state.unsettled = state.hopes }
            guard new == .disconnected, state.outcome == nil else { return nil }
            return state.lastErrors[.pusher]?.exitStatus ?? .unavailable
        }
        if new == .connected { waitForRest() }
        if new == .reconnecting { StatusLine.wait(for: "the connection to come back") }
        if let end { leave(end) }  // nobody asked for it: refused for good
    }

    package func subscribedToChannel(name: String) {
        // Whoever reads the line may interrupt at once: by then it must be known what is listened to.
        state.withLock { _ = $0.unheard.remove(name) }
        settle(name)
    }

    /// Says what is listened to, once all is known.
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

    /// Says on a terminal what has not come about yet, once the connection has that is said first.
    private func waitForRest() {
        guard pusher.map({ $0.connection.connectionState == .connected }) ?? true else { return }
        let (awaited, channels) = state.withLock { ($0.firstAwaited, $0.unsettled.sorted()) }
        switch awaited {
        case .pusher: return  // it has said so itself
        case .feed(let index) where channels.isEmpty:
            StatusLine.wait(for: "the answer of \(feeds[index].serverName)")
        case nil where channels.isEmpty: StatusLine.endWait()
        case .feed, nil:
            let what = channels.count == 1 ? "the subscription of \(channels[0])" : "\(channels.count) subscriptions"
            StatusLine.wait(for: "\(what)")
        }
    }

    /// `host:port`
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

    /// Keeps the error as the reason why something does not come about.
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
        if !isWritten { leave(.done) }  // the reader has what it wanted
        return isWritten
    }
}
