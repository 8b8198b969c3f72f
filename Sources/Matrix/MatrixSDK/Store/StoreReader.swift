import Foundation
import GRDB
import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// Reads the database. A damaged one causes errors, never traps.
struct StoreReader {
    let database: Database

    init(_ database: Database) {
        self.database = database
    }

    /// SQLite's text ends at a zero, which a peer can put into an id: such text is stored as bytes, which equal no
    /// text.
    static func text(_ text: String) -> DatabaseValue {
        text.utf8.contains(0) ? Data(text.utf8).databaseValue : text.databaseValue
    }

    /// A decoder that accepts a tag's order larger than any number.
    private static var decoder: JSONBytesDecoder {
        var decoder = JSONBytesDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return decoder
    }

    // MARK: Opening

    func meta(_ name: String) throws -> String? {
        try String.fetchOne(statement("SELECT value FROM meta WHERE name = ?"), arguments: [name])
    }

    func note(_ name: String) throws -> String? { try meta(Self.noteName(name)) }

    static func noteName(_ name: String) -> String { "note." + name }

    /// Returns whether nothing was ever committed.
    func isEmpty() throws -> Bool {
        for table in StoreSchema.tables {
            if try Row.fetchOne(database, sql: "SELECT 1 FROM \(table) LIMIT 1") != nil { return false }
        }
        return true
    }

    func session() throws -> MXStoredSession {
        var session = MXStoredSession()
        session.syncToken = try meta("sync_token")
        let decoder = Self.decoder
        var roomIds: [Int64: String] = [:]
        let rooms = try Row.fetchCursor(statement("SELECT number, room_id, summary, stripped_state FROM room"))
        while let row = try rooms.next() {
            let roomId = try row.decode(String.self, atIndex: 1)
            roomIds[try row.decode(Int64.self, atIndex: 0)] = roomId
            if let json = try row.decode(Data?.self, atIndex: 2) {
                session.summaries.append(try Self.summary(json, of: roomId, decoder))
            }
            if let json = try row.decode(Data?.self, atIndex: 3) {
                session.strippedStates[roomId] = try Self.array(json, roomId: roomId)
            }
        }
        let accountData = try Row.fetchCursor(statement("SELECT room, json FROM account_data"))
        while let row = try accountData.next() {
            let number = try row.decode(Int64.self, atIndex: 0)
            let json = try row.decode(Data.self, atIndex: 1)
            if number == 0 {
                session.accountData.append(try Self.event(json, roomId: nil))
            } else if let roomId = roomIds[number] {
                session.roomAccountData[roomId, default: []].append(try Self.event(json, roomId: roomId))
            }
        }
        session.presence = try events(statement("SELECT json FROM presence"), [], roomId: nil)
        for json in try Data.fetchAll(statement("SELECT json FROM outgoing ORDER BY number")) {
            do {
                session.outgoing.append(try decoder.decode(MXOutgoingEvent.self, from: json))
            } catch {
                throw StoreDamage("a message that was to be sent is not readable")
            }
        }
        let messages = try Row.fetchCursor(statement("SELECT id, json, clear FROM to_device ORDER BY number"))
        while let row = try messages.next() {
            session.toDevice.append(
                MXToDeviceMessage(
                    id: try row.decode(atIndex: 0),
                    event: try Self.event(
                        try row.decode(atIndex: 1), clear: try row.decode(atIndex: 2), roomId: nil)))
        }
        return session
    }

    /// Returns the rooms that may have more events than this.
    func rooms(withMoreEventsThan count: Int) throws -> [String] {
        try String.fetchAll(statement("SELECT room_id FROM room WHERE event_count > ?"), arguments: [count])
    }

    // MARK: Rooms

    func number(of roomId: String) throws -> Int64? {
        try Int64.fetchOne(statement("SELECT number FROM room WHERE room_id = ?"), arguments: [Self.text(roomId)])
    }

    func eventCount(of room: Int64) throws -> Int {
        try Int.fetchOne(statement("SELECT event_count FROM room WHERE number = ?"), arguments: [room]) ?? 0
    }

    func summary(of roomId: String) throws -> MXRoomSummary? {
        let statement = try statement("SELECT summary FROM room WHERE room_id = ?")
        guard let json = try Data?.fetchOne(statement, arguments: [Self.text(roomId)]) ?? nil else { return nil }
        return try Self.summary(json, of: roomId, Self.decoder)
    }

    func state(of roomId: String) throws -> [MXEvent] {
        guard let room = try number(of: roomId) else { return [] }
        return try events(statement("SELECT json FROM state WHERE room = ?"), [room], roomId: roomId)
    }

    func stateEvent(of roomId: String, type: String, key: String) throws -> MXEvent? {
        guard let room = try number(of: roomId) else { return nil }
        let sql = "SELECT json FROM state WHERE room = ? AND type = ? AND state_key = ?"
        return try events(statement(sql), [room, Self.text(type), Self.text(key)], roomId: roomId).first
    }

    /// - Parameter userId: The user; `nil` for all users.
    func receipts(in roomId: String, of userId: String? = nil) throws -> [MXReceipt] {
        guard let room = try number(of: roomId) else { return [] }
        let sql = "SELECT user_id, event_id, type, thread, ts FROM receipt WHERE room = ?"
        let rows =
            if let userId {
                try Row.fetchCursor(statement(sql + " AND user_id = ?"), arguments: [room, Self.text(userId)])
            } else {
                try Row.fetchCursor(statement(sql), arguments: [room])
            }
        var receipts: [MXReceipt] = []
        while let row = try rows.next() {
            let thread = try row.decode(String.self, atIndex: 3)
            receipts.append(
                MXReceipt(
                    userId: try row.decode(atIndex: 0), eventId: try row.decode(atIndex: 1),
                    type: try row.decode(atIndex: 2), threadId: thread.isEmpty ? nil : thread,
                    ts: UInt64(bitPattern: try row.decode(Int64.self, atIndex: 4))))
        }
        return receipts
    }

    /// Returns the joined rooms whose state claims this alias, as the canonical one or another.
    func rooms(withAlias alias: String) throws -> [AliasClaim] {
        // Only read rooms that contain the alias's text: decoding every summary takes longer than asking the server.
        let rows = try Row.fetchCursor(
            statement(
                """
                SELECT room_id, summary, json FROM room
                JOIN state ON state.room = number AND type = 'm.room.canonical_alias' AND state_key = ''
                WHERE instr(json, ?) > 0 AND summary IS NOT NULL
                """), arguments: [Data(alias.utf8)])
        var claims: [AliasClaim] = []
        while let row = try rows.next() {
            let roomId: String = try row.decode(atIndex: 0)
            let event = try Self.event(try row.decode(atIndex: 2), roomId: roomId)
            guard try Self.summary(try row.decode(atIndex: 1), of: roomId, Self.decoder).membership == .join,
                MXRoomState(roomId: roomId, events: [event]).aliases.contains(alias)
            else { continue }
            claims.append(
                AliasClaim(roomId: roomId, isOfAliasServer: event.sender.server == alias.server && alias.server != nil))
        }
        return claims
    }

    /// Returns all stored data of rooms except their summaries.
    func contents(eventsPerRoom: Int) throws -> MXStoreChanges {
        var contents = MXStoreChanges()
        let numbers = try Row.fetchAll(statement("SELECT number, room_id FROM room"))
        var roomIds: [Int64: String] = [:]
        for row in numbers { roomIds[try row.decode(Int64.self, atIndex: 0)] = try row.decode(String.self, atIndex: 1) }
        let states = try Row.fetchCursor(statement("SELECT room, json FROM state"))
        while let row = try states.next() {
            guard let roomId = roomIds[try row.decode(Int64.self, atIndex: 0)] else { continue }
            let event = try Self.event(try row.decode(Data.self, atIndex: 1), roomId: roomId)
            contents.rooms[roomId, default: .init()].state.append(event)
        }
        for roomId in roomIds.values {
            contents.rooms[roomId, default: .init()].timeline =
                try events(in: roomId, before: nil, limit: eventsPerRoom).reversed()
            contents.rooms[roomId, default: .init()].receipts = try receipts(in: roomId)
        }
        return contents
    }

    // MARK: Timelines

    func events(in roomId: String, before eventId: String?, limit: Int) throws -> [MXEvent] {
        guard limit > 0, let room = try number(of: roomId) else { return [] }
        let places = try TimelinePlaces(room: room)
        var end = places.last
        if let eventId {
            guard let place = try place(of: eventId, room: room) else { return [] }
            end = place
        }
        return try timelineEvents(
            statement("SELECT json, clear FROM event WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT ?"),
            [places.first, end, limit], roomId: roomId)
    }

    func event(_ eventId: String, in roomId: String) throws -> MXEvent? {
        guard let room = try number(of: roomId) else { return nil }
        return try timelineEvents(
            statement("SELECT json, clear FROM event WHERE room = ? AND event_id = ?"), [room, Self.text(eventId)],
            roomId: roomId
        ).first
    }

    func knownEvents(among eventIds: [String], in roomId: String) throws -> [String] {
        guard let room = try number(of: roomId) else { return [] }
        return try eventIds.filter { try place(of: $0, room: room) != nil }
    }

    func relations(toEach eventIds: [String], in roomId: String) throws -> MXDictionary<[MXEvent]> {
        guard let room = try number(of: roomId) else { return [:] }
        var relations = MXDictionary<[MXEvent]>()
        for id in eventIds {
            let events = try timelineEvents(
                statement("SELECT json, clear FROM event WHERE room = ? AND relates_to = ? ORDER BY place"),
                [room, Self.text(id)], roomId: roomId)
            if !events.isEmpty { relations[id] = events }
        }
        return relations
    }

    private func place(of eventId: String, room: Int64) throws -> Int64? {
        try Int64.fetchOne(
            statement("SELECT place FROM event WHERE room = ? AND event_id = ?"),
            arguments: [room, Self.text(eventId)])
    }

    /// Returns the places of the oldest and the newest event, or `nil` if there is none.
    func ends(_ places: TimelinePlaces) throws -> (oldest: Int64, newest: Int64)? {
        let oldest = try Int64.fetchOne(
            statement("SELECT place FROM event WHERE place >= ? AND place <= ? ORDER BY place LIMIT 1"),
            arguments: [places.first, places.last])
        let newest = try Int64.fetchOne(
            statement("SELECT place FROM event WHERE place >= ? AND place <= ? ORDER BY place DESC LIMIT 1"),
            arguments: [places.first, places.last])
        guard let oldest, let newest else { return nil }
        return (oldest, newest)
    }

    /// Returns where to cut a timeline so that at least this many events stay, and as few more as possible.
    func cut(
        _ places: TimelinePlaces, keeping count: Int
    ) throws -> (place: Int64, token: String, eventCount: Int64)? {
        let oldestToStay = try Int64.fetchOne(
            statement("SELECT place FROM event WHERE place >= ? AND place <= ? ORDER BY place DESC LIMIT 1 OFFSET ?"),
            arguments: [places.first, places.last, count - 1])
        guard let oldestToStay, let newest = try ends(places)?.newest else { return nil }
        let row = try Row.fetchOne(
            statement(
                """
                SELECT place, token FROM event WHERE place >= ? AND place <= ? AND token IS NOT NULL
                ORDER BY place DESC LIMIT 1
                """), arguments: [places.first, oldestToStay])
        guard let row else { return nil }
        let place = try row.decode(Int64.self, atIndex: 0)
        return (place, try row.decode(String.self, atIndex: 1), newest - place + 1)
    }

    // MARK: Rows

    private func statement(_ sql: String) throws -> Statement { try database.cachedStatement(sql: sql) }

    private func events(
        _ statement: Statement, _ arguments: StatementArguments, roomId: String?
    ) throws -> [MXEvent] {
        try Data.fetchAll(statement, arguments: arguments).map { try Self.event($0, roomId: roomId) }
    }

    /// Reads events with a statement that also returns their decrypted content.
    private func timelineEvents(
        _ statement: Statement, _ arguments: StatementArguments, roomId: String
    ) throws -> [MXEvent] {
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var events: [MXEvent] = []
        while let row = try rows.next() {
            events.append(
                try Self.event(try row.decode(atIndex: 0), clear: try row.decode(atIndex: 1), roomId: roomId))
        }
        return events
    }

    /// - Parameter clear: The decrypted content, or the reason why it is not known; `nil` if the event is not
    ///   encrypted.
    private static func event(_ json: Data, clear: Data?, roomId: String?) throws -> MXEvent {
        let event = try event(json, roomId: roomId)
        guard let clear else { return event }
        guard let record = JSONView(Array(clear)) else { throw StoreDamage("a decrypted event is not readable") }
        return event.withDecryptionRecord(record)
    }

    // MARK: Keys

    func record(_ place: RecordKey) throws -> SecretBytes? {
        try Data.fetchOne(
            statement("SELECT state FROM encryption WHERE kind = ? AND scope = ? AND key = ?"),
            arguments: [place.kind.rawValue, Data(place.scope.utf8), Data(place.key.utf8)]
        ).map { SecretBytes($0) }
    }

    /// Returns records in the order of their keys' bytes.
    func records(_ kind: RecordKind, scope: String) throws -> [(key: String, state: SecretBytes)] {
        let rows = try Row.fetchCursor(
            statement("SELECT key, state FROM encryption WHERE kind = ? AND scope = ? ORDER BY key"),
            arguments: [kind.rawValue, Data(scope.utf8)])
        var records: [(key: String, state: SecretBytes)] = []
        while let row = try rows.next() {
            let key = String(decoding: try row.decode(Data.self, atIndex: 0), as: UTF8.self)
            records.append((key, SecretBytes(try row.decode(Data.self, atIndex: 1))))
        }
        return records
    }

    /// Returns the readable records of a damaged database, to be moved to another one. Reads each kind from both ends,
    /// since an unreadable page hides everything behind it.
    func readableRecords() -> RescuedRecords {
        var rescued = RescuedRecords()
        for kind in RecordKind.allCases {
            do {
                try read(kind, "ASC", into: &rescued.records)
            } catch {
                rescued.isComplete = false
                try? read(kind, "DESC", into: &rescued.records)
            }
        }
        return rescued
    }

    private func read(_ kind: RecordKind, _ order: String, into records: inout [RecordKey: SecretBytes]) throws {
        let rows = try Row.fetchCursor(
            statement("SELECT scope, key, state FROM encryption WHERE kind = ? ORDER BY scope \(order), key \(order)"),
            arguments: [kind.rawValue])
        while let row = try rows.next() {
            let (scope, key) = (try row.decode(Data.self, atIndex: 0), try row.decode(Data.self, atIndex: 1))
            let place = RecordKey(
                kind, scope: String(decoding: scope, as: UTF8.self), key: String(decoding: key, as: UTF8.self))
            records[place] = SecretBytes(try row.decode(Data.self, atIndex: 2))
        }
    }

    private static func event(_ json: Data, roomId: String?) throws(StoreDamage) -> MXEvent {
        guard let event = MXEvent(data: json, roomId: roomId) else { throw StoreDamage("an event is not readable") }
        return event
    }

    private static func array(_ json: Data, roomId: String) throws(StoreDamage) -> [MXEvent] {
        guard let array = JSONView(Array(json))?.array else { throw StoreDamage("stripped state is not readable") }
        var events: [MXEvent] = []
        for json in array {
            guard let event = MXEvent(json: json, roomId: roomId) else { throw StoreDamage("an event is not readable") }
            events.append(event)
        }
        return events
    }

    /// Decodes a summary. Fields unknown to an older version of the library get their default values.
    static func summary(_ json: Data, of roomId: String, _ decoder: JSONBytesDecoder) throws(StoreDamage)
        -> MXRoomSummary
    {
        if let summary = try? decoder.decode(MXRoomSummary.self, from: json) { return summary }
        guard let stored = try? JSONSerialization.jsonObject(with: json) as? [String: Any],
            let defaults = try? JSONEncoder().encode(MXRoomSummary(roomId: roomId)),
            let all = try? JSONSerialization.jsonObject(with: defaults) as? [String: Any],
            let merged = try? JSONSerialization.data(withJSONObject: all.merging(stored) { $1 }),
            let summary = try? decoder.decode(MXRoomSummary.self, from: merged)
        else { throw StoreDamage("the summary of a room is not readable") }
        return summary
    }
}

extension String {
    /// The server of a user id or an alias.
    fileprivate var server: Substring? { firstIndex(of: ":").map { self[index(after: $0)...] } }
}

/// The keys read from a damaged database.
struct RescuedRecords {
    var records: [RecordKey: SecretBytes] = [:]
    /// Whether no key is known to be lost.
    var isComplete = true

    /// A sentence about the rescued and the lost keys, without naming any.
    var outcome: String {
        let roomKeys = records.keys.count { $0.kind == .inboundSession }
        let rooms = "\(roomKeys) \(roomKeys == 1 ? "key" : "keys") of encrypted rooms"
        let backup = "messages whose keys are missing can only be read with a backup of keys, or an exported file"
        if records.isEmpty { return isComplete ? "There were no keys in it." : "All keys in it are lost: \(backup)." }
        if isComplete { return "All keys were rescued, with them \(rooms)." }
        let own =
            records[RecordKey(OlmAccount.kind)] == nil
            ? "the keys of this device are lost, so log in as a new device" : "the keys of this device were rescued"
        return "\(rooms) were rescued, others are lost, and \(own): \(backup)."
    }
}
