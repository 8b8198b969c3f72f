import Foundation
import GRDB
import MatrixEncryption
import MatrixProtocol

/// Writes changes to the database within one transaction.
struct StoreWriter {
    let database: Database
    private let encoder = JSONEncoder()

    init(_ database: Database) {
        self.database = database
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    }

    func apply(_ changes: MXStoreChanges) throws {
        if changes.replacesEverything { try removeEverything() }
        for (roomId, room) in changes.rooms { try apply(room, to: roomId) }
        for event in changes.accountData { try setAccountData(event, room: 0) }
        for event in changes.presence {
            try run("INSERT OR REPLACE INTO presence VALUES (?, ?)", text(event.sender), json(event))
        }
        for event in changes.outgoing {
            try run(
                """
                INSERT INTO outgoing (transaction_id, room_id, json) VALUES (?, ?, ?)
                ON CONFLICT (transaction_id) DO UPDATE SET json = excluded.json
                """,
                text(event.transactionId), text(event.roomId), try encoder.encode(event).databaseValue)
        }
        for transactionId in changes.sentOutgoing {
            try run("DELETE FROM outgoing WHERE transaction_id = ?", text(transactionId))
        }
        for message in changes.toDevice {
            try run(
                "INSERT INTO to_device (id, json, clear) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
                text(message.id), json(message.event), clear(message.event))
        }
        for id in changes.toldToDevice { try run("DELETE FROM to_device WHERE id = ?", text(id)) }
        for (place, state) in changes.encryption.records { try set(state, at: place) }
        if let token = changes.syncToken { try setMeta("sync_token", token) }
    }

    /// Sets a record; `nil` removes it.
    func set(_ state: SecretBytes?, at place: RecordKey) throws {
        let (kind, scope, key) = (
            place.kind.rawValue.databaseValue, Data(place.scope.utf8).databaseValue, Data(place.key.utf8).databaseValue
        )
        if let state {
            let bytes = state.withUnsafeBytes { Data($0) }
            try run("INSERT OR REPLACE INTO encryption VALUES (?, ?, ?, ?)", kind, scope, key, bytes.databaseValue)
        } else {
            try run("DELETE FROM encryption WHERE kind = ? AND scope = ? AND key = ?", kind, scope, key)
        }
    }

    func setMeta(_ name: String, _ value: String?) throws {
        if let value {
            try run("INSERT OR REPLACE INTO meta VALUES (?, ?)", text(name), text(value))
        } else {
            try run("DELETE FROM meta WHERE name = ?", text(name))
        }
    }

    /// Removes everything except the owner's name and what the server does not send again.
    private func removeEverything() throws {
        for table in StoreSchema.tables where !StoreSchema.irreplaceable.contains(table) {
            try run("DELETE FROM \(table)")
        }
        try setMeta("sync_token", nil)
    }

    private func apply(_ changes: MXStoreChanges.Room, to roomId: String) throws {
        if changes.isRemoved {
            if let number = try StoreReader(database).number(of: roomId) {
                for table in ["event", "state", "receipt", "account_data"] {
                    try run("DELETE FROM \(table) WHERE room = ?", number.databaseValue)
                }
                try run("DELETE FROM room WHERE number = ?", number.databaseValue)
            }
            try run("DELETE FROM outgoing WHERE room_id = ?", text(roomId))
            guard !changes.isEmptyAfterRemoval else { return }
        }
        try run("INSERT INTO room (room_id) VALUES (?) ON CONFLICT DO NOTHING", text(roomId))
        guard let number = try StoreReader(database).number(of: roomId) else {
            throw StoreDamage("a room that was just stored is not there")
        }
        let room = number.databaseValue
        try applyTimeline(of: changes, room: number)
        if changes.replacesState { try run("DELETE FROM state WHERE room = ?", room) }
        for event in changes.state {
            guard let key = event.stateKey else { continue }
            try run(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?)", room, text(event.wireType), text(key), json(event))
        }
        if let stripped = changes.strippedState {
            let array = stripped.isEmpty ? .null : array(stripped)
            try run("UPDATE room SET stripped_state = ? WHERE number = ?", array, room)
        }
        if let summary = changes.summary { try setSummary(summary, room: number) }
        for event in changes.accountData { try setAccountData(event, room: number) }
        for receipt in changes.receipts {
            try run(
                "INSERT OR REPLACE INTO receipt VALUES (?, ?, ?, ?, ?, ?)", room, text(receipt.userId),
                text(receipt.type), text(receipt.threadId ?? ""), text(receipt.eventId),
                Int64(bitPattern: receipt.ts).databaseValue)
        }
    }

    // MARK: Timelines

    private func applyTimeline(of changes: MXStoreChanges.Room, room: Int64) throws {
        let places = try TimelinePlaces(room: room)
        if changes.dropsTimeline { try run("DELETE FROM event WHERE room = ?", room.databaseValue) }
        if !changes.timeline.isEmpty || !changes.older.isEmpty || changes.dropsTimeline {
            var (oldest, newest) = try StoreReader(database).ends(places) ?? (places.middle, places.middle - 1)
            for (index, event) in changes.timeline.enumerated() {
                let token = index == 0 ? changes.timelineToken : nil
                if try insert(event, at: newest + 1, of: places, room: room, token: token) { newest += 1 }
            }
            for (index, event) in changes.older.enumerated() {
                let token = index == changes.older.count - 1 ? changes.olderToken : nil
                if try insert(event, at: oldest - 1, of: places, room: room, token: token) { oldest -= 1 }
            }
            try run(
                "UPDATE room SET event_count = ? WHERE number = ?", (newest - oldest + 1).databaseValue,
                room.databaseValue)
        }
        for event in changes.replaced {
            try run(
                "UPDATE event SET json = ?, clear = ?, relates_to = ? WHERE room = ? AND event_id = ?", json(event),
                clear(event), text(event.storedRelation), room.databaseValue, text(event.eventId))
        }
    }

    /// - Returns: Whether the event was new.
    private func insert(
        _ event: MXEvent, at place: Int64, of places: TimelinePlaces, room: Int64, token: String?
    ) throws -> Bool {
        guard !event.eventId.isEmpty else { return false }
        guard place > places.first, place < places.last else { throw StoreDamage("a timeline has no place left") }
        try run(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (room, event_id) DO NOTHING",
            place.databaseValue, room.databaseValue, text(event.eventId), text(event.storedRelation), text(token),
            json(event), clear(event))
        return database.changesCount > 0
    }

    /// - Returns: The new pagination token; `nil` if nothing was trimmed.
    func trimTimeline(of roomId: String, to count: Int) throws -> String? {
        let reader = StoreReader(database)
        guard let room = try reader.number(of: roomId), try reader.eventCount(of: room) > count + count / 4,
            let cut = try reader.cut(try TimelinePlaces(room: room), keeping: count)
        else { return nil }
        try run("DELETE FROM event WHERE place >= ? AND place < ?", (room << 32).databaseValue, cut.place.databaseValue)
        guard database.changesCount > 0 else { return nil }
        try run("UPDATE room SET event_count = ? WHERE number = ?", cut.eventCount.databaseValue, room.databaseValue)
        if var summary = try reader.summary(of: roomId) {
            summary.paginationToken = cut.token
            try setSummary(summary, room: room)
        }
        return cut.token
    }

    // MARK: Rows

    private func setSummary(_ summary: MXRoomSummary, room: Int64) throws {
        try run(
            "UPDATE room SET summary = ? WHERE number = ?", try encoder.encode(summary).databaseValue,
            room.databaseValue)
    }

    private func setAccountData(_ event: MXEvent, room: Int64) throws {
        try run(
            "INSERT OR REPLACE INTO account_data VALUES (?, ?, ?)", room.databaseValue, text(event.wireType),
            json(event))
    }

    private func array(_ events: [MXEvent]) -> DatabaseValue {
        var json = Data("[".utf8)
        for (index, event) in events.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.append(event.data)
        }
        json.append(UInt8(ascii: "]"))
        return json.databaseValue
    }

    private func json(_ event: MXEvent) -> DatabaseValue { event.data.databaseValue }

    private func clear(_ event: MXEvent) -> DatabaseValue { event.decryptionRecord?.data.databaseValue ?? .null }

    private func text(_ text: String?) -> DatabaseValue { text.map { StoreReader.text($0) } ?? .null }

    private func run(_ sql: String, _ values: DatabaseValue...) throws {
        try database.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
    }
}

extension MXStoreChanges.Room {
    fileprivate var isEmptyAfterRemoval: Bool {
        timeline.isEmpty && older.isEmpty && state.isEmpty && strippedState?.isEmpty != false && summary == nil
            && accountData.isEmpty && receipts.isEmpty
    }
}
