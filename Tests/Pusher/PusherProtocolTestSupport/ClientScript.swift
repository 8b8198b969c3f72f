package import Basics
import JSONBytes
package import PusherProtocol
package import Realtime
import TestSupport
package import Transport

/// A client machine driven manually, with its orders and notices as readable lines.
package struct ClientScript {
    package var machine: ClientMachine
    package var now = MonotonicInstant.start
    /// The authorization requests by channel.
    package var requests: [String: AuthRequest] = [:]
    /// The last sign-in request.
    package private(set) var userRequest: AuthRequestID?
    private var transport: ConnectionMachine.TransportID?

    package init(_ change: (inout ClientMachine.Configuration) -> Void = { _ in }) {
        var configuration = ClientMachine.Configuration()
        configuration.connection.reconnectPolicy = .quadratic()
        change(&configuration)
        machine = ClientMachine(
            endpoint: Endpoint(host: "h", key: "k", usesTLS: true, clientVersion: "1"), configuration: configuration,
            seed: 1)
    }

    /// Returns a client connected with socket ID 1.1, with nothing left to take.
    package static func connected(_ change: (inout ClientMachine.Configuration) -> Void = { _ in }) -> ClientScript {
        var script = ClientScript(change)
        script.connect()
        return script
    }

    package mutating func connect(socketID: String = "1.1") {
        machine.connect(now: now)
        _ = take()
        establish(socketID: socketID)
        _ = take()
    }

    package mutating func establish(socketID: String) {
        receive(
            #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\",\"activity_timeout\":120}"}"#
        )
    }

    /// Receives all frames in one read.
    package mutating func receive(_ frames: String...) { receive(frames) }

    package mutating func receive(_ frames: [String]) {
        guard let transport else { return }
        var messages = WebSocketMessages(of: frames.flatMap { Array($0.utf8) })
        var start = 0
        for frame in frames {
            messages.appendPart(start..<start + frame.utf8.count, isText: true)
            start += frame.utf8.count
        }
        machine.received(messages, from: transport, now: now)
    }

    package mutating func receiveBinary(_ bytes: [UInt8]) {
        guard let transport else { return }
        machine.received(WebSocketMessages([.binary(bytes[...])]), from: transport, now: now)
    }

    package mutating func close(_ code: UInt16, error: TransportError? = nil) {
        guard let transport else { return }
        machine.transportClosed(transport, WebSocketClosure(code: code, error: error), now: now)
    }

    package mutating func pass(_ duration: Duration) {
        now = now + duration
        machine.timePassed(now: now)
    }

    package mutating func hold(_ reader: EventReader) { machine.holdReading(for: reader, now: now) }

    package mutating func release(_ reader: EventReader) { machine.releaseReading(for: reader, now: now) }

    package mutating func subscribe(_ name: String, auth: AuthAnswer? = nil) throws -> EventRouter.ChannelID {
        machine.subscribe(to: try ChannelName(name), auth: auth, now: now).id
    }

    package mutating func answerUser(_ result: Result<UserAuthAnswer, AuthFailure>) {
        guard let userRequest else { return }
        machine.userAuthAnswered(userRequest, result, now: now)
    }

    package mutating func unsubscribe(_ name: String) { _ = machine.unsubscribe(from: name, now: now) }

    package mutating func succeed(_ name: String, data: String? = "{}") {
        let data = data.map { #","data":\#(JSONString.quoted($0))"# } ?? ""
        receive(#"{"event":"pusher_internal:subscription_succeeded","channel":"\#(name)"\#(data)}"#)
    }

    package mutating func answer(
        _ name: String, _ result: Result<AuthAnswer, AuthFailure> = .success(AuthAnswer(auth: "k:s"))
    ) {
        guard let request = requests[name] else { return }
        machine.authAnswered(request.id, result, now: now)
    }

    /// Returns everything since the last call: first orders, then notices.
    package mutating func take() -> [String] {
        let (orders, notices) = machine.takeSorted()
        return orders.map { describe($0) } + notices.flatMap(describe)
    }

    private mutating func describe(_ action: ClientMachine.Action) -> String {
        switch action {
        case .tell(let notices): return notices.flatMap(describe).joined(separator: "\n")
        case .open(let id, let url):
            transport = id
            return "open \(id.number) \(url.prefix { $0 != ":" })"
        case .close(let id): return "close \(id.number)"
        case .drop(let id): return "drop \(id.number)"
        case .send(_, let frame): return "send \(describe(frame))"
        case .pauseReading(_, let isPaused): return isPaused ? "pause" : "resume"
        case .authorize(let request):
            requests[request.channel.string] = request
            return "authorize \(request.channel) \(request.socketID)"
        case .authorizeUser(let id, let socketID):
            userRequest = id
            return "authorize user \(socketID)"
        case .cancelAuthorization: return "cancel authorization"
        }
    }

    private func describe(_ frame: ClientFrame) -> String {
        switch frame {
        case .ping: "ping"
        case .pong: "pong"
        case .subscribe(let name, let auth, _): "subscribe \(name)" + (auth.map { " \($0)" } ?? "")
        case .unsubscribe(let name): "unsubscribe \(name)"
        case .signIn(let auth, let userData): "sign in \(auth) \(userData)"
        case .clientEvent(let event, let name, let data): "\(event) \(name) \(data)"
        }
    }

    private func describe(_ notice: ClientMachine.Notice) -> [String] {
        if case .events(let batch) = notice { batch.map(describe) } else { [describe(notice)] }
    }

    private func describe(_ event: RealtimeEvent, on channel: EventRouter.ChannelID?) -> String {
        "event \(event.eventName)" + (channel == nil ? "" : " \(event.channelName ?? "")")
            + (event.data.map { " \($0)" } ?? "")
    }

    private func describe(_ notice: ClientMachine.Notice) -> String {
        switch notice {
        case .stateChanged(let from, let to): "\(from) → \(to)"
        case .events(let batch): "\(batch.count) events"
        case .subscribed(_, let name): "subscribed \(name)"
        case .subscriptionFailed(_, let error, _, _): "failed \(error)"
        case .decryptionFailed(_, let event): "undecryptable \(event.eventName) \(event.data ?? "")"
        case .memberAdded(_, let member): "added \(member.userID)"
        case .memberRemoved(_, let member): "removed \(member.userID)"
        case .subscriptionCount(_, let count): "count \(count)"
        case .gap(_, let name, let from, let to): "gap \(name) \((to - from) / .seconds(1)) s"
        case .signedIn(let user): "signed in \(user.id)"
        case .signInFailed(let error, let event): "sign-in failed \(error) \(event.eventName)"
        case .watchlistChanged(let change): "watchlist \(change.name) \(change.userIDs.joined(separator: " "))"
        case .pingAnswered(let latency): "ping answered after \(latency / .seconds(1)) s"
        case .sourceStateChanged(let state): "\(state.channelName) \(state.connectionState)"
        case .readingHeld(let error): "held \(error)"
        case .readingResumed(let error, let duration): "resumed after \(duration / .seconds(1)) s \(error)"
        case .error(let error): "error \(error)"
        }
    }
}

extension ClientMachine {
    /// Returns the pending orders and notices.
    package mutating func takeSorted() -> (orders: [Action], notices: [Notice]) {
        var (orders, told): ([Action], [Notice]) = ([], [])
        for action in takeActions() {
            if case .tell(let notices) = action { told += notices } else { orders.append(action) }
        }
        return (orders, told)
    }

    /// Returns the pending notices and discards the orders.
    package mutating func takeNotices() -> [Notice] { takeSorted().notices }
}
