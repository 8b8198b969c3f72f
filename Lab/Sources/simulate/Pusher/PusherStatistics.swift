import Transport

enum PusherKind: String, CaseIterable {
    case opens = "transports opened"
    case refused = "refused"
    case connectTimeouts = "connect time-outs"
    case connected = "connections"
    case attemptsFailed = "attempts that failed"
    case reconnects = "connections lost"
    case stops = "given up for good"
    case cuts = "cut"
    case blackHoles = "black holes"
    case pongTimeouts = "pong time-outs"
    case closedNormally = "closed 1000–3999"
    case closed40 = "closed 4000–4099"
    case closed41 = "closed 4100–4199"
    case closed42 = "closed 4200–4299"
    case closed43 = "closed 4300 and more"
    case broken = "broken without a code"
    case restarts = "server restarts"
    case hints = "network hints"
    case clockJumps = "clock jumps"
    case subscribeCalls = "subscribe calls"
    case unsubscribeCalls = "unsubscribe calls"
    case callsFromCallbacks = "calls from callbacks"
    case subscribed = "subscribed"
    case subscriptionsFailed = "subscriptions failed"
    case gaps = "gaps reported"
    case authRequests = "authorizations"
    case authSlow = "… slow"
    case authLate = "… around the time-out"
    case authLost = "… never answered"
    case authFailed = "… refused"
    case authTwice = "… answered twice"
    case authStale = "… for an old socket"
    case authIncomplete = "… without channel data"
    case signInRequests = "sign-in authorizations"
    case signedIn = "signed in"
    case signInsFailed = "sign-ins failed"
    case events = "events delivered"
    case cachedEvents = "… of a cache"
    case memberChanges = "members came or went"
    case keyRotations = "key rotations"
    case decryptionsFailed = "undecryptable events"
    case clientEventsSent = "client events sent"
    case clientEventsRejected = "client events rejected"
    case fullQueues = "full callback queues"
    case shutDowns = "clients shut down"
}

extension Statistics<PusherKind> {
    mutating func closed(_ closure: WebSocketClosure) {
        switch closure.code {
        case 4000..<4100: count(.closed40)
        case 4100..<4200: count(.closed41)
        case 4200..<4300: count(.closed42)
        case 4300...: count(.closed43)
        default: count(closure.error == nil ? .closedNormally : .broken)
        }
    }

    mutating func count(_ behaviour: PusherSchedule.AuthBehaviour) {
        switch behaviour {
        case .normal: break
        case .slow: count(.authSlow)
        case .late: count(.authLate)
        case .lost: count(.authLost)
        case .forbidden, .temporaryFailure: count(.authFailed)
        case .twice: count(.authTwice)
        case .forOldSocket: count(.authStale)
        case .noChannelData: count(.authIncomplete)
        }
    }
}
