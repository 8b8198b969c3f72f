import Basics
import CurlTransport
import Foundation
import JSONBytes
import RelayProtocol

/// Heartbeats and the records of slots.
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
        // Longer than a heartbeat would only keep the next one.
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
                        let record = message.flatMap { JSONView($0.payload) }.flatMap { SlotRecord($0) }
                        ownership.slotSeen(
                            slot, record: record, revision: message?.sequence ?? 0, isOfLeader: true, now: now)
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
                        guard let json = JSONView(record.payload) else { continue }
                        let key = record.subject.dropFirst(prefix.count)
                        Self.see(key, json, record.revision, &ownership, now)
                    }
                }
            }
        }
    }

    private static func see(
        _ key: Substring, _ json: JSONView, _ revision: UInt64, _ ownership: inout OwnershipMachine,
        _ now: MonotonicInstant
    ) {
        if key.hasPrefix("h."), let relay = RelayID(String(key.dropFirst(2))), let heartbeat = Heartbeat(json) {
            ownership.heartbeatSeen(relay, heartbeat, revision: revision, now: now)
        } else if key.hasPrefix("s."), let slot = Int(key.dropFirst(2)).flatMap({ Slot($0) }) {
            ownership.slotSeen(slot, record: SlotRecord(json), revision: revision, now: now)
        }
    }

    // MARK: Fences

    /// The first message of a term: readers know by it that what comes of an older one is late.
    @NetworkActor
    func fence(_ slot: Slot, _ term: Int) {
        let message = RelayMessage.fence(slot, term: term).outgoing(
            prefix: options.prefix, messageID: MessageID.fence(slot: slot, term: term, by: relay),
            stream: options.stream)
        stream.publish(message) { [weak self] result in
            NetworkActor.execute {
                guard let self, self.peek({ $0.ownership.held[slot] }) == term else { return }
                switch result {
                case .success: self.handle { machine, now in machine.begin(slot, term: term, now: now) }
                case .failure(let error):
                    self.notStored(error)
                    Task {
                        try? await Task.sleep(for: Self.fencePause)
                        NetworkActor.execute { self.fence(slot, term) }
                    }
                }
            }
        }
    }

    private static var fencePause: Duration { .milliseconds(250) }
}
