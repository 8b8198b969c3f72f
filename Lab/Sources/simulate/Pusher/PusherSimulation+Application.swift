import Basics
import CurlTransport
import PusherProtocol
import Realtime

/// The application's calls and callbacks.
extension PusherSimulation {
    func make(_ asked: PusherSchedule.Call) {
        guard !application.isShutDown else { return }
        switch asked {
        case .connect:
            application.wantsConnection = true
            ledger.connectAsked()
            call { $0.connect(now: $1) }
        case .disconnect:
            application.wantsConnection = false
            ledger.isEndAsked = true
            call { $0.disconnect(now: $1) }
        case .move:
            ledger.isEndAsked = true
            if machine.connectionState != .disconnected, machine.connectionState != .disconnecting {
                ledger.connectAsked()
            }
            let tls = schedule.options.usesTLS
            call { $0.move(to: Endpoint(host: "m", key: "key", usesTLS: tls, clientVersion: "1"), now: $1) }
        case .shutDown: shutDown()
        case .signIn:
            application.wantsSignIn = true
            application.signInHasFailed = false
            call { $0.signIn(now: $1) }
        case .subscribe(let channel): subscribe(channel)
        case .unsubscribe(let channel): unsubscribe(channel)
        case .trigger(let channel): trigger(channel)
        case .holdReading:
            application.holds += 1
            call { $0.holdReading(for: application.reader, now: $1) }
        case .releaseReading:
            guard application.holds > 0 else { return }
            application.holds -= 1
            call { $0.releaseReading(for: application.reader, now: $1) }
        }
    }

    private func subscribe(_ channel: Int) {
        guard let name = try? ChannelName(PusherSchedule.channels[channel]) else { return }
        statistics.count(.subscribeCalls)
        let (id, isNew) = call { $0.subscribe(to: name, now: $1) }
        check(isNew == (application.wanted[channel] == nil), "subscribe to \(name): isNew is \(isNew)")
        guard isNew else {
            check(application.wanted[channel] == id, "a channel has changed its id")
            return
        }
        check(application.subscriptions[id] == nil, "a channel id is used twice")
        application.wanted[channel] = id
        application.subscriptions[id] = Application.Subscription(channel: channel)
        router.addChannel(id)
        let deliveries = application.deliveries
        if router.route(of: RealtimeEvent(name: "", channel: nil, data: nil), on: nil).global.isEmpty {
            _ = router.bindGlobally { event in
                deliveries.withLock { $0.append(Application.Delivery(binding: .global, event: event)) }
            }
        }
        _ = router.bind(to: id, event: nil) { event in
            deliveries.withLock { $0.append(Application.Delivery(binding: .channel(id), event: event)) }
        }
    }

    private func unsubscribe(_ channel: Int) {
        let name = PusherSchedule.channels[channel]
        statistics.count(.unsubscribeCalls)
        let id = call { $0.unsubscribe(from: name, now: $1) }
        check(id == application.wanted[channel], "unsubscribe from \(name) ends another channel than is wanted")
        guard let id else { return }
        _ = router.removeChannel(id)
        application.wanted[channel] = nil
        application.subscriptions[id]?.isLive = false
    }

    private func trigger(_ channel: Int) {
        guard let id = application.wanted[channel] else { return }
        application.lastClientEvent += 1
        let data = "\(application.lastClientEvent)"
        do {
            try call { try $0.trigger("client-e", data: data, on: id, now: $1) }
        } catch {
            statistics.count(.clientEventsRejected)
        }
        check(
            machine.unsentEvents(of: id).count <= schedule.options.configuration.maximumUnsentEvents,
            "more client events wait than maximumUnsentEvents")
    }

    func shutDown() {
        log("the client is shut down")
        statistics.count(.shutDowns)
        callbacks.close()
        router = EventRouter()
        application.isShutDown = true
        application.wantsConnection = false
        ledger.isEndAsked = true
        call { $0.shutDown(now: $1) }
        stage.loop.execute { [unowned self] in closeDriver() }
    }

    // MARK: Callbacks

    func add(_ notices: [ClientMachine.Notice]) {
        guard !callbacks.isClosed else { return }
        callbacks.add(notices.flatMap { $0.oneByOne })
        if callbacks.count > schedule.options.maximumQueuedEvents, !callbacks.isFull {
            callbacks.isFull = true
            statistics.count(.fullQueues)
            call { $0.holdReading(for: callbacks.reader, now: $1) }
        }
        guard !callbacks.isRunning else { return }
        callbacks.isRunning = true
        if schedule.options.isInline {
            while tellNext() {}
            callbacks.isRunning = false
        } else {
            scheduleCallbacks()
        }
    }

    private func scheduleCallbacks() {
        guard let duration = application.callbackDuration else { return }
        after(duration + .microseconds(random.below(300))) { [unowned self] in runCallbacks() }
    }

    func callbacksChanged(to duration: Duration?) {
        let wasStuck = application.callbackDuration == nil
        application.callbackDuration = duration
        if wasStuck, callbacks.isRunning { scheduleCallbacks() }
    }

    func runCallbacks() {
        guard application.callbackDuration != nil else { return }
        let count = application.callbackDuration == .zero ? 1 + random.below(20) : 1
        for _ in 0..<count where !tellNext() {
            callbacks.isRunning = false
            return
        }
        scheduleCallbacks()
    }

    private func tellNext() -> Bool {
        guard let notice = callbacks.popFirst() else { return false }
        tell(notice)
        if callbacks.finishBatch(), callbacks.isFull, callbacks.count <= schedule.options.maximumQueuedEvents / 2 {
            callbacks.isFull = false
            call { $0.releaseReading(for: callbacks.reader, now: $1) }
        }
        return true
    }

    /// Delivers a notice like `ClientCore`.
    private func tell(_ notice: ClientMachine.Notice) {
        check(!application.isShutDown, "a callback runs after the client is gone")
        switch notice {
        case .events(let batch): for (event, channel) in batch { tell(event, on: channel) }
        case .subscriptionFailed(let channel, _, _, let event): if isLive(channel) { tell(event, on: channel) }
        case .subscribed(let channel, _): if isLive(channel) { subscribed(channel) }
        case .decryptionFailed(let channel, let event): if isLive(channel) { decryptionFailed(event, channel) }
        case .gap(let channel, _, _, _): if isLive(channel) { gapTold(channel) }
        case .stateChanged(let old, _): if old == .connected { connectionEndTold() }
        case .signInFailed: application.signInHasFailed = true
        case .memberAdded, .memberRemoved, .subscriptionCount, .signedIn, .watchlistChanged, .pingAnswered,
            .sourceStateChanged, .error, .readingHeld, .readingResumed:
            break
        }
        callFromCallback()
    }

    private func isLive(_ id: EventRouter.ChannelID) -> Bool {
        application.subscriptions[id]?.isLive == true
    }

    private func tell(_ event: RealtimeEvent, on channel: EventRouter.ChannelID?) {
        let route = router.route(of: event, on: channel)
        for binding in route.global + route.bound {
            // An earlier binding may have unsubscribed.
            if let channel, !router.hasChannel(channel) { return }
            binding.handler(event)
            for delivery in application.deliveries.withLock({ list in
                defer { list = [] }
                return list
            }) {
                received(delivery)
            }
            callFromCallback()
        }
    }

    private func callFromCallback() {
        guard !application.callsFromCallbacks.isEmpty else { return }
        let next = application.callsFromCallbacks.removeFirst()
        log("from a callback: \(next)")
        statistics.count(.callsFromCallbacks)
        make(next)
    }
}
