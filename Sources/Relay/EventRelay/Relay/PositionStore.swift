import Basics
import Foundation
import JSONBytes
import RelayProtocol

/// Stores the position that each unit has reached: the key `c.<unit>`. It is written when all earlier events are in the
/// stream, over the known revision and with the term, so that a former owner cannot set it back.
final class PositionStore: Sendable {
    struct Position: Hashable, Sendable {
        let position: String
        let term: Int
        /// The time in milliseconds since 1970, on the writer's clock.
        let time: Int64
    }

    private struct Unit: Sendable {
        var revision: UInt64 = 0
        /// The newest position that is not stored yet.
        var waiting: Position?
        var isWriting = false
    }

    private let connection: NATSConnection
    private let bucket: String
    private let units = Lock<[ByteKey: Unit]>([:])
    private let failureObserver = Lock<(@Sendable (NATSError) -> Void)?>(nil)

    init(_ connection: NATSConnection, bucket: String) {
        (self.connection, self.bucket) = (connection, bucket)
    }

    /// Called for errors that don't resolve by themselves.
    var onFailure: (@Sendable (NATSError) -> Void)? {
        get { failureObserver.withLock { $0 } }
        set { failureObserver.exchange(newValue) }
    }

    /// Returns the leader's position; nil if none is stored yet.
    func load(_ unit: String) async throws(NATSError) -> Position? {
        let message = try await connection.leaderMessage(stream: "KV_" + bucket, subject: subject(unit))
        units.withLock { $0[unit] = Unit(revision: message?.sequence ?? 0) }
        return message.flatMap { JSONView($0.payload) }.flatMap { Position($0) }
    }

    /// Stores a position eventually; of several waiting ones, only the last.
    func store(_ position: String, of unit: String, term: Int) {
        let position = Position(position: position, term: term, time: Date().milliseconds)
        let begins = units.withLock { units in
            units[unit, default: Unit()].waiting = position
            guard units[unit]?.isWriting == false else { return false }
            units[unit]?.isWriting = true
            return true
        }
        if begins { write(unit) }
    }

    /// Discards the waiting position of a unit that is no longer owned.
    func forget(_ unit: String) { units.withLock { $0[unit]?.waiting = nil } }

    private func subject(_ unit: String) -> String { "$KV.\(bucket).c.\(SubjectToken.encode(unit))" }

    private func write(_ unit: String) {
        let next = units.withLock { units -> (Position, UInt64)? in
            guard let position = units[unit]?.waiting, let revision = units[unit]?.revision else {
                units[unit]?.isWriting = false
                return nil
            }
            units[unit]?.waiting = nil
            return (position, revision)
        }
        guard let (position, revision) = next else { return }
        let text = position.json.compactText
        // After a purge of a bucket, servers remember its IDs for a while.
        let id = ["cursor", unit, "\(revision)"] + (revision == 0 ? [text] : [])
        let message = OutgoingMessage(
            subject: subject(unit), payload: Array(text.utf8), messageID: MessageID.make(id),
            expectedStream: "KV_" + bucket)
        connection.publish(message, expectedLastSubjectSequence: revision) { [weak self] result in
            self?.written(position, of: unit, result)
        }
    }

    private func written(_ position: Position, of unit: String, _ result: Result<StoredMessage, NATSError>) {
        switch result {
        case .success(let stored) where !stored.isDuplicate:
            units.withLock { $0[unit]?.revision = stored.sequence }
            write(unit)
        case .success: readBack(position, of: unit)
        case .failure(let error):
            if !error.mayRetry, error.kind != .wrongLastSequence { onFailure?(error) }
            readBack(position, of: unit)
        }
    }

    /// The stored value decides: the position itself, one of a later term, or an older one, over which it is written
    /// again.
    private func readBack(_ position: Position, of unit: String) {
        connection.calls.run(after: .milliseconds(100)) { [weak self] in
            guard let self else { return }
            connection.leaderMessage(stream: "KV_" + bucket, subject: subject(unit)) { [weak self] result in
                guard let self else { return }
                guard case .success(let message) = result else { return readBack(position, of: unit) }
                let stored = message.flatMap { JSONView($0.payload) }.flatMap { Position($0) }
                units.withLock { units in
                    units[unit]?.revision = message?.sequence ?? 0
                    if let stored, stored.term > position.term {
                        units[unit]?.waiting = nil
                    } else if stored != position, units[unit]?.waiting == nil {
                        units[unit]?.waiting = position
                    }
                }
                write(unit)
            }
        }
    }
}

extension PositionStore.Position {
    /// The year 9999.
    private static let latest = 253_402_300_799_999

    init?(_ json: JSONView) {
        guard let position = json["position"]?.string, let term = json["term"]?.int, let time = json["time"]?.int else {
            return nil
        }
        // Anyone with write access to the bucket may have written it.
        self.init(position: position, term: term, time: Int64(min(max(time, 0), Self.latest)))
    }

    var json: JSONView {
        var writer = JSONWriter()
        writer.add("position", position)
        writer.add("term", json: "\(term)")
        writer.add("time", json: "\(time)")
        return writer.view
    }
}
