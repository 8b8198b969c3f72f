import Basics
import CurlTransport
import Foundation
import JSONBytes
import RelayProtocol

extension RelayCore {
    private func subject(_ key: String) -> String { "$KV.\(options.bucket).\(key)" }

    private var recordStream: String { "KV_" + options.bucket }

    private func record(_ key: String, _ json: JSONView, messageID: String? = nil) -> OutgoingMessage {
        OutgoingMessage(
            subject: subject(key), payload: Array(json.compactText.utf8), messageID: messageID,
            expectedStream: recordStream)
    }

    func beat(_ heartbeat: Heartbeat) {
        var sent = heartbeat
        sent.settled = min(sent.settled ?? .max, receivedTime)
        // Waiting longer than a heartbeat would only delay the next one.
        records.publish(record("h.\(relay)", sent.json), wait: min(options.heartbeatInterval, .seconds(2)), on: beats) {
            [weak self] result in
            guard case .success = result else { return }
            self?.call { machine, now in machine.own(now: now) { $0.heartbeatStored(heartbeat, now: $1) } }
        }
    }

    func write(_ write: SlotWrite) {
        let message = record("s.\(write.slot)", write.record.json, messageID: write.messageID)
        records.publish(message, expectedLastSubjectSequence: write.revision) { [weak self] result in
            let outcome: SlotWriteOutcome
            switch result {
            case .success(let stored): outcome = stored.isDuplicate ? .unknown : .stored(revision: stored.sequence)
            case .failure(let error): outcome = error.kind == .wrongLastSequence ? .refused : .unknown
            }
            self?.call { machine, now in machine.own(now: now) { $0.writeEnded(write, outcome, now: $1) } }
        }
    }

    func read(_ slot: Slot) {
        records.leaderMessage(stream: recordStream, subject: subject("s.\(slot)")) { [weak self] result in
            self?.call { machine, now in
                machine.own(now: now) { ownership, now in
                    switch result {
                    case .success(let message):
                        Self.see(
                            slot, message?.payload ?? [], message?.sequence ?? 0, isOfLeader: true, &ownership, now)
                    case .failure: ownership.readFailed(slot, now: now)
                    }
                }
            }
        }
    }

    func read(_ other: RelayID) {
        records.leaderMessage(stream: recordStream, subject: subject("h.\(other)")) { [weak self] result in
            self?.call { machine, now in
                machine.own(now: now) { ownership, now in
                    switch result {
                    case .success(let message):
                        let heartbeat = message.flatMap { JSONView($0.payload) }.flatMap { Heartbeat($0) }
                        ownership.heartbeatRead(other, heartbeat, revision: message?.sequence ?? 0, now: now)
                    case .failure: ownership.heartbeatReadFailed(other, now: now)
                    }
                }
            }
        }
    }

    @NetworkActor
    func seen(_ news: RecordWatch.News) {
        switch news {
        case .complete: handle { machine, now in machine.own(now: now) { $0.readCompleted(now: $1) } }
        case .failed(let error, _): report(.natsFailed(error))
        case .records(let records):
            let prefix = subject("")
            handle { machine, now in
                machine.own(now: now) { ownership, now in
                    for record in records where record.subject.hasPrefix(prefix) {
                        let key = record.subject.dropFirst(prefix.count)
                        Self.see(key, record.payload, record.revision, &ownership, now)
                    }
                }
            }
        }
    }

    private static func see(
        _ key: Substring, _ payload: [UInt8], _ revision: UInt64, _ ownership: inout OwnershipMachine,
        _ now: MonotonicInstant
    ) {
        if key.hasPrefix("h."), let relay = RelayID(String(key.dropFirst(2))),
            let heartbeat = JSONView(payload).flatMap({ Heartbeat($0) })
        {
            ownership.heartbeatSeen(relay, heartbeat, revision: revision, now: now)
        } else if key.hasPrefix("s."), let slot = Int(key.dropFirst(2)).flatMap({ Slot($0) }) {
            see(slot, payload, revision, isOfLeader: false, &ownership, now)
        }
    }

    /// - Parameter payload: The record's payload; empty if it does not exist or was deleted.
    private static func see(
        _ slot: Slot, _ payload: [UInt8], _ revision: UInt64, isOfLeader: Bool, _ ownership: inout OwnershipMachine,
        _ now: MonotonicInstant
    ) {
        let record = JSONView(payload).flatMap { SlotRecord($0) }
        guard record != nil || payload.isEmpty else { return ownership.slotUnreadable(slot, now: now) }
        ownership.slotSeen(slot, record: record, revision: revision, isOfLeader: isOfLeader, now: now)
    }

    // MARK: Fences

    func readFence(_ slot: Slot) {
        stream.leaderMessage(
            stream: options.stream, subject: RelayMessage.fenceSubject(slot, prefix: options.prefix),
            headers: RelayMessage.headerNames, on: fences
        ) { [weak self, options] result in
            if case .failure(let error) = result, !error.mayRetry { self?.reportOnce(error) }
            self?.call { machine, now in
                machine.own(now: now) { ownership, now in
                    switch result {
                    case .success(let message):
                        let fence = message.map { message in
                            let read = try? RelayMessage(
                                subject: message.subject, prefix: options.prefix, payload: message.payload,
                                header: message.header)
                            // Messages from anyone else are overwritten.
                            return read?.fence(sequence: message.sequence)
                                ?? SlotFence(term: 0, relay: nil, sequence: message.sequence)
                        }
                        ownership.fenceRead(slot, fence, now: now)
                    case .failure: ownership.fenceReadFailed(slot, now: now)
                    }
                }
            }
        }
    }

    /// Writes the first message of a term, from which readers know that messages of older terms are late.
    func fence(_ slot: Slot, _ term: Int, over sequence: UInt64) {
        let message = RelayMessage.fence(slot, term: term, by: relay).outgoing(
            prefix: options.prefix, messageID: MessageID.fence(prefix: options.prefix, slot: slot, term: term),
            stream: options.stream)
        stream.publish(message, expectedLastSubjectSequence: sequence) { [weak self] result in
            NetworkActor.execute {
                let outcome: FenceOutcome
                switch result {
                case .success(let stored): outcome = stored.isDuplicate ? .known : .stored
                case .failure(let error) where error.kind == .wrongLastSequence: outcome = .refused
                case .failure(let error):
                    self?.notStored(error)
                    outcome = .failed
                }
                self?.handle { machine, now in
                    machine.own(now: now) { $0.fenceWritten(slot, term: term, outcome, now: $1) }
                }
            }
        }
    }
}
