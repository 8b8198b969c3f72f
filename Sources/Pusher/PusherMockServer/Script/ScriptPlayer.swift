/// Says which steps of a script it is time for.
struct ScriptPlayer {
    typealias Step = PusherMockServer.Script.Step

    /// A step and what it is about.
    struct Due: Hashable {
        var step: Step
        var socketID: String?
        var channel: String?
    }

    private let steps: [Step]
    /// How often each step may still be taken; nil is without bound.
    private var remaining: [Int?]

    init(_ script: PusherMockServer.Script?) {
        steps = script?.steps ?? []
        // For these the times are those of the fault.
        remaining = steps.map { step in
            switch step.action {
            case .refuse, .failAuth: nil
            case .strike, .publish, .clearFaults: step.times
            }
        }
    }

    mutating func started() -> [Due] {
        take { $0 == .start }
    }

    mutating func happened(_ entry: PusherMockServer.LogEntry) -> [Due] {
        switch entry {
        case .connectionOpened(let socketID, _): return take(socketID: socketID) { $0 == .connection }
        case .subscribed(let channel, let socketID):
            return take(socketID: socketID, channel: channel) {
                $0 == .subscription(channel: nil) || $0 == .subscription(channel: channel)
            }
        case .connectionRefused, .connectionClosed, .frameReceived, .frameSent, .pingReceived, .pongReceived,
            .unsubscribed, .subscriptionRefused, .published, .webhook, .webhookSent, .webhookFailed, .authRequest,
            .httpRequest, .acceptingPaused, .missed:
            return []
        }
    }

    private mutating func take(
        socketID: String? = nil, channel: String? = nil, where isTriggered: (Step.Trigger) -> Bool
    ) -> [Due] {
        var due: [Due] = []
        for index in steps.indices where isTriggered(steps[index].trigger) && remaining[index] != 0 {
            remaining[index] = remaining[index].map { $0 - 1 }
            due.append(Due(step: steps[index], socketID: socketID, channel: channel))
        }
        return due
    }
}
