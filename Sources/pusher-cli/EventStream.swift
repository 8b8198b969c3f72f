import Dispatch
import Foundation
import PusherSwift
import Basics

/// A client, accounts and workspaces whose events go to standard output until there is a reason to leave.
///
/// Lines are written from one queue, in order. If nobody takes them, callbacks wait, nothing more is read or asked for, and
/// memory stays bounded.
final class EventStream: PusherDelegate {
    /// What is printed where.
    enum Mode: Sendable {
        /// Events alone; everything else goes to standard error.
        case events(named: Set<String>)
        /// Everything that happens.
        case everything
    }

    /// Where events come from.
    private enum Side: Hashable {
        case pusher
        /// By its place among the feeds.
        case feed(Int)
    }

    private struct State {
        var remaining: Int?
        /// Connections that have not come about yet.
        var awaited: Set<Side>
        /// The time for that is over; the next failure ends it.
        var isImpatient = false
        /// Channels that nobody has refused us yet.
        var hopes: Set<String>
        /// Those of them that have never been subscribed.
        var unheard: Set<String>
        /// Those of them that are still to be subscribed before it is said what is listened to, or that it is again.
        var unsettled: Set<String>
        var hasListened = false
        /// Whether a sign-in has been asked for and is neither done nor refused.
        var isSigningIn = false
        var lastError: PusherError?
        /// The worst of what went wrong while other things went on.
        var trouble = ExitStatus.done
        var outcome: ExitStatus?
        var waiter: CheckedContinuation<ExitStatus, Never>?
    }

    /// Where everything is told, so that what comes of several sources comes one by one.
    static let queue = DispatchQueue(label: "pusher-cli.events")

    private let pusher: Pusher?
    private let feeds: [any Feed]
    private let mode: Mode
    private let options: StreamOptions
    private let form: StreamForm
    private let state: Lock<State>

    /// - Parameters:
    ///   - pusher: Nil for feeds alone.
    ///   - feeds: Accounts and workspaces whose events come as well.
    init(
        pusher: Pusher? = nil, channels: [String] = [], as user: UserOptions? = nil, feeds: [any Feed] = [], mode: Mode,
        options: StreamOptions
    ) {
        self.pusher = pusher
        self.feeds = feeds
        self.mode = mode
        self.options = options
        form = options.form()
        let sides = (pusher == nil ? [] : [.pusher]) + feeds.indices.map { Side.feed($0) }
        state = Lock(
            State(
                remaining: options.count, awaited: Set(sides), hopes: Set(channels), unheard: Set(channels),
                unsettled: Set(channels)))
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
                let status = state.lastError?.exitStatus ?? .refused
                state.isSigningIn = false
                state.trouble = state.trouble.worse(status)
                return (state.hopes.isEmpty, status)
            }
            if isHopeless, feeds.isEmpty { leave(status) }  // there is nothing else to wait for
        }
        pusher.user.signIn()
    }

    /// Connects, prints, and returns when it is time to leave; the connection is closed then.
    func run() async -> ExitStatus {
        // What has no end is done when somebody stops it.
        let isEndless = options.count == nil && options.timeout == nil
        let signals = SignalWatch(taking: form.isSlowToFinish ? .max : 1) { [weak self] in
            guard let self else { return }
            if state.withLock({ $0.outcome != nil }) { return form.end() }
            let isDone = isEndless && !hasNeverListened
            if !isDone { StandardError.complain(CommandFailure.interrupted) }
            leave(isDone ? .done : .interrupted)
        }
        let timers = startTimers()
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
        let formStatus = await form.finish()
        signals.cancel()
        return status.worse(state.withLock { $0.trouble }).worse(formStatus)
    }

    private var hasNeverListened: Bool {
        feeds.isEmpty && state.withLock { $0.awaited.contains(.pusher) || !$0.hopes.isEmpty && $0.unheard == $0.hopes }
    }

    /// The first reason to leave counts.
    private func leave(_ status: ExitStatus) {
        let waiter = state.withLock { state in
            if state.outcome == nil { state.outcome = status }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: status)
    }

    private func fail(_ error: any Error) {
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
        func timer(_ seconds: Double, _ fire: @escaping @Sendable (EventStream) -> Void) -> any DispatchSourceTimer {
            let timer = DispatchSource.makeTimerSource()
            timer.setEventHandler { [weak self] in self.map(fire) }
            timer.schedule(deadline: .now() + seconds)
            timer.resume()
            return timer
        }
        var timers =
            options.timeout.map { seconds in
                [timer(seconds) { $0.timeIsOver(after: seconds) }]
            } ?? []
        if options.connectTimeout > 0 {
            timers.append(
                timer(options.connectTimeout) { $0.connectTimeIsOver() })
        }
        return timers
    }

    private func timeIsOver(after seconds: Double) {
        let awaited = state.withLock { $0.awaited }
        if isHopeless(awaited) || options.count == nil && !awaited.isEmpty {
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
            return (channels.sorted(), state.isSigningIn, state.lastError)
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

    private func isHopeless(_ awaited: Set<Side>) -> Bool {
        awaited.contains { side in
            switch side {
            case .pusher: true
            case .feed(let index): feeds[index].isFailing
            }
        }
    }

    private func giveUpConnecting(after seconds: Double) {
        let last = state.withLock { $0.lastError }
        let reason = last.map { ": \($0.message)" } ?? ""
        fail(CommandFailure(.unavailable, "no connection within \(Seconds.text(seconds))\(reason)"))
    }

    // MARK: What happens, on the callback queue

    private func received(_ event: PusherEvent) {
        guard !event.eventName.hasPrefix("pusher:") else { return }  // told in other ways
        if case .events(let names) = mode, !names.isEmpty, !names.contains(event.eventName) { return }
        print(.event(event))
        count()
    }

    private func received(_ report: FeedReport, fromFeed index: Int) {
        let feed = feeds[index]
        do throws(CommandFailure) {
            switch report {
            case .event(let event):
                if let news = try feed.news(of: event, forPeople: form.isForPeople) { tell(news, ofFeed: index) }
            case .state(let state):
                if let news = try feed.news(of: state) { tell(news, ofFeed: index) }
            case .gap(let gap):
                guard feed.wants(gap) else { return }
                tell(.gap(PusherGap(channelName: gap.channelName, start: gap.start, end: gap.end)))
            case .failed(let failure): failed(failure, ofFeed: index)
            }
        } catch {
            fail(error)
        }
    }

    private func tell(_ news: FeedNews, ofFeed index: Int) {
        if news.isConnected {
            let isAll = state.withLock { state in
                state.awaited.remove(.feed(index))
                return state.awaited.isEmpty
            }
            if isAll { StatusLine.endWait() }
        }
        print(news.record)
        for warning in news.warnings { StandardError.write("warning: \(warning)") }
        if news.counts { count() }
    }

    private func failed(_ failure: SourceFailure, ofFeed index: Int) {
        if feeds[index].isNew(failure) { complain(PusherError(failure)) }
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

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        switch mode {
        case .everything:
            print(.state(from: old, to: new, socketID: new == .connected ? pusher?.connection.socketId : nil))
        case .events: break
        }
        if new == .connected {
            let channels = state.withLock { $0.unsettled.sorted() }
            if channels.isEmpty { StatusLine.endWait() } else { waitForSubscription(of: channels) }
        }
        if new == .reconnecting { StatusLine.wait(for: "the connection to come back") }
        let end = state.withLock { state -> ExitStatus? in
            if new == .connected {
                state.awaited.remove(.pusher)
                state.lastError = nil  // it was about the way here
            }
            if new == .reconnecting { state.unsettled = state.hopes }
            guard new == .disconnected, state.outcome == nil else { return nil }
            return state.lastError?.exitStatus ?? .unavailable
        }
        if let end { leave(end) }  // nobody asked for it: refused for good
    }

    func subscribedToChannel(name: String) {
        switch mode {
        case .everything:
            let channel = pusher?.connection.channels.findPresence(name: name)
            print(.subscribed(channel: name, members: channel?.members.count))
        case .events: break
        }
        state.withLock { _ = $0.unheard.remove(name) }
        settle(name)
    }

    /// Says what is listened to, once all is known.
    private func settle(_ channel: String) {
        let server = serverName
        let news = state.withLock { state -> String? in
            guard state.unsettled.remove(channel) != nil, state.unsettled.isEmpty, !state.hopes.isEmpty,
                state.outcome == nil
            else { return nil }
            defer { state.hasListened = true }
            return state.hasListened ? "again" : "to \(state.hopes.sorted().inWords()) on \(server)"
        }
        if news != nil { StatusLine.endWait() }
        switch mode {
        case .everything: break
        case .events: if let news { StandardError.write("listening \(news)") }
        }
    }

    private func waitForSubscription(of channels: [String]) {
        let what = channels.count == 1 ? "the subscription of \(channels[0])" : "\(channels.count) subscriptions"
        StatusLine.wait(for: "\(what)")
    }

    /// `host:port`
    private var serverName: String {
        let url = pusher.flatMap { URLComponents(string: $0.connection.url) }
        return (url?.host ?? "the server") + (url?.port.map { ":\($0)" } ?? "")
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
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

    func receivedError(error: PusherError) {
        if error.explainsWait {
            state.withLock { $0.lastError = error }
            StatusLine.explainWait("\(Complaint.text(error.message))")
        }
        complain(error)
    }

    private func complain(_ error: PusherError) {
        switch mode {
        case .everything: print(.error(error))
        case .events: StandardError.complain(error)
        }
    }

    private func print(_ record: Record) {
        guard state.withLock({ $0.outcome == nil }) else { return }
        if !form.write(record) { leave(.done) }  // the reader has what it wanted
    }
}
