import GRDB

/// The tables of a file store. Released versions are never changed, only migrated.
enum StoreSchema {
    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    -- event_count may be too high, never too low.
                    CREATE TABLE room (
                        number INTEGER PRIMARY KEY, room_id TEXT NOT NULL UNIQUE, summary BLOB, stripped_state BLOB,
                        event_count INTEGER NOT NULL DEFAULT 0);

                    -- A place is made of the number of the room and the position in its timeline: see TimelinePlaces.
                    -- token: where the server's history goes on before this event.
                    CREATE TABLE event (
                        place INTEGER PRIMARY KEY, room INTEGER NOT NULL, event_id TEXT NOT NULL, relates_to TEXT,
                        token TEXT, json BLOB NOT NULL);
                    CREATE UNIQUE INDEX event_by_id ON event (room, event_id);
                    CREATE INDEX event_by_relation ON event (room, relates_to) WHERE relates_to IS NOT NULL;

                    CREATE TABLE state (
                        room INTEGER NOT NULL, type TEXT NOT NULL, state_key TEXT NOT NULL, json BLOB NOT NULL,
                        PRIMARY KEY (room, type, state_key)) WITHOUT ROWID;

                    -- thread: empty for the whole room.
                    CREATE TABLE receipt (
                        room INTEGER NOT NULL, user_id TEXT NOT NULL, type TEXT NOT NULL, thread TEXT NOT NULL,
                        event_id TEXT NOT NULL, ts INTEGER NOT NULL,
                        PRIMARY KEY (room, user_id, type, thread)) WITHOUT ROWID;

                    -- room: 0 for what belongs to the account.
                    CREATE TABLE account_data (
                        room INTEGER NOT NULL, type TEXT NOT NULL, json BLOB NOT NULL, PRIMARY KEY (room, type)
                    ) WITHOUT ROWID;

                    CREATE TABLE presence (user_id TEXT NOT NULL PRIMARY KEY, json BLOB NOT NULL) WITHOUT ROWID;

                    CREATE TABLE outgoing (
                        number INTEGER PRIMARY KEY, transaction_id TEXT NOT NULL UNIQUE, room_id TEXT NOT NULL,
                        json BLOB NOT NULL);

                    -- Not used any more.
                    CREATE TABLE filter (json TEXT NOT NULL PRIMARY KEY, filter_id TEXT NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { database in
            try database.execute(
                sql: """
                    -- Messages to this device that were not told yet, in the order of their numbers.
                    CREATE TABLE to_device (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, json BLOB NOT NULL);
                    """)
        }
        migrator.registerMigration("3") { database in
            try database.execute(
                sql: """
                    -- What was inside of an encrypted event, or why that is not known; NULL for others.
                    ALTER TABLE event ADD COLUMN clear BLOB;

                    -- Keys and what belongs to them: see RecordKind.
                    CREATE TABLE encryption (
                        kind TEXT NOT NULL, scope BLOB NOT NULL, key BLOB NOT NULL, state BLOB NOT NULL,
                        PRIMARY KEY (kind, scope, key)) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4") { database in
            try database.execute(
                sql: """
                    -- What was inside of an encrypted message; NULL for others.
                    ALTER TABLE to_device ADD COLUMN clear BLOB;
                    """)
        }
        return migrator
    }()

    /// The first migrations with rooms and with keys.
    static let (first, firstWithKeys) = ("1", "3")

    static let tables = [
        "meta", "room", "event", "state", "receipt", "account_data", "presence", "outgoing", "to_device", "filter",
        "encryption",
    ]
    /// The tables among them that the server does not send again.
    static let irreplaceable: Set<String> = ["meta", "to_device", "encryption"]

    /// Later queries of tables that are not read when a store is opened. Preparing them shows whether everything is
    /// there.
    static let checks = [
        "SELECT place, room, event_id, relates_to, token, json, clear FROM event INDEXED BY event_by_id WHERE room = 0",
        "SELECT room, type, state_key, json FROM state",
        "SELECT room, user_id, type, thread, event_id, ts FROM receipt",
        "SELECT kind, scope, key, state FROM encryption",
    ]
}

/// The places of a room's events in the table `event`: 32 bits below the room's number, oldest first. The first event
/// ever stored is in the middle.
struct TimelinePlaces {
    let first: Int64
    var last: Int64 { first | 0xFFFF_FFFF }
    var middle: Int64 { first | 0x8000_0000 }

    init(room: Int64) throws(StoreDamage) {
        guard (1..<1 << 31).contains(room) else { throw StoreDamage("a room has the number \(room)") }
        first = room << 32
    }
}

/// The database's contents are not what was stored.
struct StoreDamage: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}
