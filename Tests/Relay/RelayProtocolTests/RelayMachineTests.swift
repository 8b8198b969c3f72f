import Basics
import Testing

@testable import RelayProtocol

/// Ownership and events combined.
struct RelayMachineTests {
    private static let (own, unit) = (RelayID(name: "a", random: 1), "pusher:app:price")

    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(seconds * 1_000_000_000))
    }

    /// Returns a machine that has relayed its unit alone since second 0.3.
    private func running() throws -> RelayMachine {
        let slot = Slot(of: Self.unit)
        var machine = RelayMachine(.init(relay: Self.own, slots: [slot]), units: [Self.unit], now: at(0))
        machine.own(now: at(0)) {
            $0.readCompleted(now: $1)
            $0.heartbeatStored(Heartbeat(incarnation: 1, number: 1), now: $1)
        }
        _ = machine.takeActions()
        machine.own(now: at(0.1)) { $0.fenceRead(slot, nil, now: $1) }
        let writes = machine.takeActions().compactMap { if case .write(let write) = $0 { write } else { nil } }
        let write = try #require(writes.first)
        machine.own(now: at(0.2)) { $0.writeEnded(write, .stored(revision: 1), now: $1) }
        _ = machine.takeActions()
        machine.own(now: at(0.3)) { $0.fenceRead(slot, nil, now: $1) }
        _ = machine.takeActions()
        machine.own(now: at(0.3)) { $0.fenceWritten(slot, term: 1, .stored, now: $1) }
        let actions = machine.takeActions()
        #expect(actions.contains { if case .start(Self.unit, slot, 1, .nobody) = $0 { true } else { false } })
        return machine
    }

    private func settled(_ machine: inout RelayMachine, at second: Double) -> [Int64?] {
        machine.timePassed(now: at(second))
        return machine.takeActions().compactMap { if case .beat(let beat) = $0 { beat.settled } else { nil } }
    }

    private func event(time: Int64) -> RelayMachine.Item {
        RelayMachine.Item(unit: Self.unit, byteCount: 1, time: time) { _ in
            OutgoingMessage(subject: "ev.pusher.price.a", payload: [], messageID: nil, expectedStream: nil)
        }
    }

    /// If the relay dies before the slot is given back, the next owner relies on its heartbeats.
    @Test func afterItsSourcesHaveStopped_heartbeatsSayNothingLater() throws {
        var machine = try running()
        #expect(settled(&machine, at: 3) == [nil])
        machine.add([event(time: 90)], now: at(3))
        #expect(machine.takeActions().contains { if case .send = $0 { true } else { false } })
        #expect(settled(&machine, at: 6) == [90])
        machine.own(now: at(6)) { $0.leave(now: $1) }
        #expect(machine.takeActions().contains { if case .finish = $0 { true } else { false } })
        machine.stopped(unit: Self.unit, time: 80, isWhole: true, now: at(6.5))
        #expect(settled(&machine, at: 9) == [80])
    }
}
