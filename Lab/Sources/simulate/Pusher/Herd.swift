import Basics
import Realtime
import Transport

/// Ten thousand clients lose one server at once: how many return in the same second?
enum Herd {
    private static let clients = 10_000
    private static let handshake = Duration.milliseconds(50)

    /// How the server fails.
    private enum Failure {
        case refuses
        /// Accepts and greets each client, and resets the connection 0.1 s later.
        case greetsAndResets
        /// Like `greetsAndResets`, but with a close code that asks clients to return at once.
        case greetsAndCloses4200

        var disposition: ConnectionMachine.Disposition {
            switch self {
            case .refuses, .greetsAndResets: .backOff(atLeast: .zero)
            case .greetsAndCloses4200: .retryImmediately
            }
        }

        /// The time from the greeting to the end; `nil` if there is no greeting.
        var life: Duration? {
            switch self {
            case .refuses: nil
            case .greetsAndResets, .greetsAndCloses4200: .milliseconds(100)
            }
        }
    }

    private struct Result {
        var attempts = 0
        /// The maximum in any second, and in any tenth of a second.
        var peak = 0
        var peakOfTenth = 0
        /// The average over the last ten seconds of the outage.
        var perSecondAtTheEnd = 0
        /// The maximum after the server is back.
        var peakAfterReturn = 0
        var allBackAfter = 0.0
    }

    static func report() {
        let policies: [(String, ReconnectPolicy)] = [
            ("exponential, full jitter", .exponential()), ("quadratic, no jitter", .quadratic()),
        ]
        for outage in [Duration.zero, .seconds(20)] {
            print("\(clients) clients lose one server within 0.1 s, which is back after \(outage / .seconds(1)) s")
            for (name, policy) in policies {
                let result = run(policy, outage: outage, failure: .refuses)
                print(
                    "  \(name): at most \(result.peak) attempts in a second, \(result.peakOfTenth) in a tenth; "
                        + "\(result.peakAfterReturn) in a second once the server is back; "
                        + "\(result.attempts) in all; everybody back after \(Int(result.allBackAfter)) s")
            }
        }
        for (words, failure) in [("resets them", Failure.greetsAndResets), ("closes with 4200", .greetsAndCloses4200)] {
            print("\(clients) clients of a server that for 60 s greets them and \(words) 0.1 s later")
            for (name, policy) in policies {
                let result = run(policy, outage: .seconds(60), failure: failure)
                print(
                    "  \(name): \(result.attempts) attempts in all, at most \(result.peak) in a second, "
                        + "\(result.perSecondAtTheEnd) a second at the end; "
                        + "everybody back after \(Int(result.allBackAfter)) s")
            }
        }
    }

    private static func run(_ policy: ReconnectPolicy, outage: Duration, failure: Failure) -> Result {
        var configuration = ConnectionMachine.Configuration()
        configuration.reconnectPolicy = policy
        let start = MonotonicInstant(nanoseconds: 0)
        var machines = (0..<clients).map { ConnectionMachine(configuration: configuration, seed: UInt64($0)) }
        var agenda = Agenda<(client: Int, id: ConnectionMachine.TransportID?)>()
        var perSecond: [Int: Int] = [:]
        var perTenth: [Int: Int] = [:]
        var result = Result()

        func carryOut(_ actions: [ConnectionMachine.Action], of client: Int, now: MonotonicInstant) {
            for action in actions {
                guard case .open(let id) = action else { continue }
                result.attempts += 1
                perSecond[Int((now - start) / .seconds(1)), default: 0] += 1
                perTenth[Int((now - start) / .milliseconds(100)), default: 0] += 1
                agenda.add((client, id), at: now + handshake)
            }
            if machines[client].connectionState == .reconnecting, let deadline = machines[client].nextDeadline {
                agenda.add((client, nil), at: deadline)
            }
        }

        for client in machines.indices {
            guard case .open(let id)? = machines[client].connect(now: start).last else { continue }
            _ = machines[client].established(id, activityTimeout: nil, now: start)
        }
        for client in machines.indices {
            guard let id = machines[client].transport else { continue }
            let actions = machines[client].transportEnded(
                id, disposition: .backOff(atLeast: .zero), now: start + .milliseconds(client % 100))
            carryOut(actions, of: client, now: start + .milliseconds(client % 100))
        }
        while let (now, event) = agenda.popFirst() {
            guard let id = event.id else {
                carryOut(machines[event.client].timePassed(now: now), of: event.client, now: now)
                continue
            }
            let isGreeted = machines[event.client].connectionState == .connected
            if now - start < outage, isGreeted || failure.life == nil {
                let actions = machines[event.client].transportEnded(id, disposition: failure.disposition, now: now)
                carryOut(actions, of: event.client, now: now)
            } else if !isGreeted {
                _ = machines[event.client].established(id, activityTimeout: nil, now: now)
                result.allBackAfter = (now - start) / .seconds(1)
                if let life = failure.life, now - start < outage { agenda.add((event.client, id), at: now + life) }
            }
        }
        result.peak = perSecond.values.max() ?? 0
        result.peakOfTenth = perTenth.values.max() ?? 0
        let seconds = Int(outage / .seconds(1))
        result.perSecondAtTheEnd =
            perSecond.filter { (seconds - 10..<seconds).contains($0.key) }.values.reduce(0, +) / 10
        result.peakAfterReturn = perSecond.filter { $0.key >= seconds }.values.max() ?? 0
        return result
    }
}
