/// Determines which steps of a script are due.
struct ScriptPlayer {
    typealias Step = PusherMockServer.Script.Step

    /// A step and its subject.
    struct Due: Hashable {
        var step: Step
        var socketID: String?
        var channel: String?
    }

    private let steps: [Step]
    /// The number of times that each step may still run; `nil` means no limit.
    private var remaining: [Int?]

    init(_ script: PusherMockServer.Script?) {
        steps = script?.steps ?? []
        // For these, `times` applies to the fault.
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
