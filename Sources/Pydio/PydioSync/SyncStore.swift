import Foundation
import GRDB
import PydioProtocol
import PydioSDK

/// The record to keep if a step has taken effect, which a killed process cannot store.
struct SyncExpectation: Hashable, Sendable {
    /// The node that the step creates.
    enum Effect: Hashable, Sendable {
        /// A local file or folder.
        case local
        case remoteFolder
        /// An upload, by its id.
        case upload(String)
    }

    let record: SyncRecord
    let effect: Effect
}

extension SyncExpectation.Effect {
    /// Creates a value from its form in the database.
    fileprivate init(stored: String?) {
        switch stored {
        case nil: self = .local
        case "": self = .remoteFolder
        case let id?: self = .upload(id)
        }
    }

    fileprivate var stored: String? {
        switch self {
        case .local: nil
        case .remoteFolder: ""
        case .upload(let id): id
        }
    }
}

/// The state of a sync, in one SQLite database. Each call is one transaction, whose changes persist after it has
/// returned, even if the process is killed. A power failure may revert the last transactions, each as a whole; the
/// files are then compared.
final class SyncStore: Sendable {
    struct Contents: Sendable {
        /// The state of both sides after the last step for each path.
        var records: [SyncPath: SyncRecord] = [:]
        /// The contents of the folder on the server at ``sequence``.
        var remote: [SyncPath: SyncNode] = [:]
        /// A position in the server's change log; `nil` if it has none, or not everything could be listed.
        var sequence: Int64?
        /// The time of the last complete listing of the server; `nil` if there was none, or one is due.
        var listed: Date?
        /// Uploads that may have leftovers, and their start times.
        var uploads: [SyncUpload: Date] = [:]
        var expected: [SyncPath: SyncExpectation] = [:]
    }

    private let database: DatabaseQueue

    /// - Parameters:
    ///   - identity: The identity of the synced folders: the state of others is refused.
    init(_ file: String, identity: String) throws(SyncStateFailure) {
        do {
            var configuration = Configuration()
            configuration.label = "PydioSync"
            configuration.journalMode = .wal
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { database in
                // The lock file already excludes other syncs; this also avoids the shared memory.
                try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            }
            database = try DatabaseQueue(path: file, configuration: configuration)
            try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
            guard try database.read({ try !Self.migrator.hasBeenSuperseded($0) }) else {
                throw SyncStateFailure("\(file) is of a newer version of this program; nothing was synced")
            }
            try Self.migrator.migrate(database)
            let known = try database.write { database in
                try database.execute(
                    sql: "INSERT INTO meta VALUES ('identity', ?) ON CONFLICT DO NOTHING", arguments: [identity])
                return try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'identity'")
            }
            guard known == identity else {
                throw SyncStateFailure(
                    "the folder is synced with \(known ?? "something else"): sync another folder with \(identity), or "
                        + "remove \(file); nothing was synced")
            }
        } catch let failure as SyncStateFailure {
            throw failure
        } catch {
            throw Self.failure(error)
        }
    }

    /// The tables. A released schema is never changed, only migrated. Folders have no size.
    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    CREATE TABLE record (
                        path TEXT NOT NULL PRIMARY KEY, local_size INTEGER, local_modified INTEGER,
                        local_number INTEGER, remote_size INTEGER, remote_modified INTEGER, remote_md5 TEXT, md5 TEXT
                    ) WITHOUT ROWID;

                    CREATE TABLE remote (
                        path TEXT NOT NULL PRIMARY KEY, size INTEGER, modified INTEGER, md5 TEXT) WITHOUT ROWID;

                    -- Written before an upload begins, removed when nothing of it can be left under a temporary name.
                    -- begun: seconds since 1970.
                    CREATE TABLE upload (
                        id TEXT NOT NULL PRIMARY KEY, path TEXT NOT NULL, begun INTEGER NOT NULL) WITHOUT ROWID;

                    -- Written before a step takes effect: the record that is true if it has. upload: null for what
                    -- is made on this side, empty for a folder on the server.
                    CREATE TABLE expected (
                        path TEXT NOT NULL PRIMARY KEY, local_size INTEGER, local_modified INTEGER,
                        local_number INTEGER, remote_size INTEGER, remote_modified INTEGER, remote_md5 TEXT, md5 TEXT,
                        upload TEXT) WITHOUT ROWID;
                    """)
        }
        return migrator
    }()

    private static func failure(_ error: any Error) -> SyncStateFailure {
        if let failure = error as? SyncStateFailure { return failure }
        let reason = (error as? DatabaseError)?.message ?? "a value is not what its column holds"
        return SyncStateFailure(
            "the state in \(SyncNames.stateFolder) cannot be used: \(reason). If it is damaged, remove that folder: the "
                + "next sync compares everything, and deletes nothing")
    }

    private func perform<Value: Sendable>(_ body: (Database) throws -> Value) throws(SyncStateFailure) -> Value {
        do {
            return try database.write(body)
        } catch {
            throw Self.failure(error)
        }
    }

    // MARK: Reading

    func contents() throws(SyncStateFailure) -> Contents {
        try perform { database in
            var contents = Contents()
            let records = try Row.fetchCursor(database, sql: "SELECT * FROM record")
            while let row = try records.next() {
                contents.records[SyncPath(try row.decode(String.self, atIndex: 0))] = try Self.record(row)
            }
            let remote = try Row.fetchCursor(database, sql: "SELECT * FROM remote")
            while let row = try remote.next() {
                contents.remote[SyncPath(try row.decode(String.self, atIndex: 0))] = try Self.node(row)
            }
            contents.sequence = try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'sequence'")
                .flatMap { Int64($0) }
            contents.listed = try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'listed'")
                .flatMap { Int64($0) }.map { Date(timeIntervalSince1970: Double($0)) }
            let uploads = try Row.fetchCursor(database, sql: "SELECT id, path, begun FROM upload")
            while let row = try uploads.next() {
                let upload = SyncUpload(
                    id: try row.decode(String.self, atIndex: 0), path: SyncPath(try row.decode(String.self, atIndex: 1))
                )
                let begun = try row.decode(Int64.self, atIndex: 2)
                contents.uploads[upload] = Date(timeIntervalSince1970: Double(begun))
            }
            let expected = try Row.fetchCursor(database, sql: "SELECT * FROM expected")
            while let row = try expected.next() {
                contents.expected[SyncPath(try row.decode(String.self, atIndex: 0))] = SyncExpectation(
                    record: try Self.record(row),
                    effect: SyncExpectation.Effect(stored: try row.decode(String?.self, atIndex: 8)))
            }
            return contents
        }
    }

    private static func record(_ row: Row) throws -> SyncRecord {
        guard let size = try row.decode(Int64?.self, atIndex: 1) else { return .folder }
        return .file(
            local: SyncVersion(
                size: size, modified: try row.decode(Int64?.self, atIndex: 2),
                number: UInt64(bitPattern: try row.decode(Int64.self, atIndex: 3))),
            remote: SyncVersion(
                size: try row.decode(Int64.self, atIndex: 4), modified: try row.decode(Int64?.self, atIndex: 5),
                md5: try row.decode(String?.self, atIndex: 6)),
            md5: try row.decode(String.self, atIndex: 7))
    }

    private static func node(_ row: Row) throws -> SyncNode {
        guard let size = try row.decode(Int64?.self, atIndex: 1) else { return .folder }
        return .file(
            SyncVersion(
                size: size, modified: try row.decode(Int64?.self, atIndex: 2),
                md5: try row.decode(String?.self, atIndex: 3)))
    }

    // MARK: Writing

    /// Records that both sides are in sync at these paths, or that nothing is there on either side.
    ///
    /// - Parameters:
    ///   - forgotten: The removed paths, with everything in them.
    ///   - ended: An upload without leftovers.
    ///   - isGoneThere: Whether to also remove the forgotten paths from the remembered server contents.
    ///   - remembersRemote: Whether to also store the records' remote nodes, which the server's log may never report.
    func settle(
        _ records: [SyncPath: SyncRecord], forgetting forgotten: [SyncPath] = [], ending ended: SyncUpload? = nil,
        isGoneThere: Bool, remembersRemote: Bool
    ) throws(SyncStateFailure) {
        guard !records.isEmpty || !forgotten.isEmpty || ended != nil else { return }
        try perform { database in
            for path in forgotten {
                for table in isGoneThere ? ["record", "remote"] : ["record"] {
                    // The character after a slash is the digit 0.
                    try database.execute(
                        sql: "DELETE FROM \(table) WHERE path = ? OR (path > ? AND path < ?)",
                        arguments: [path.text, path.text + "/", path.text + "0"])
                }
            }
            for (path, record) in records {
                try Self.insert(Self.values(record, at: path), into: "record", database)
                try Self.delete(path, in: database)
                if remembersRemote { try Self.remember(record.remote, at: path, database) }
            }
            if let ended { try Self.delete(ended, in: database) }
        }
    }

    /// - Parameter expectation: The expectation; `nil` removes the current one.
    func expect(_ expectation: SyncExpectation?, at path: SyncPath) throws(SyncStateFailure) {
        try perform { database in
            guard let expectation else { return try Self.delete(path, in: database) }
            try Self.insert(
                Self.values(expectation.record, at: path) + [expectation.effect.stored], into: "expected", database)
        }
    }

    private typealias Value = (any DatabaseValueConvertible)?

    private static func values(_ record: SyncRecord, at path: SyncPath) -> [Value] {
        switch record {
        case .folder: [path.text, nil, nil, nil, nil, nil, nil, nil]
        case .file(let local, let remote, let md5):
            [
                path.text, local.size, local.modified, Int64(bitPattern: local.number), remote.size, remote.modified,
                remote.md5, md5,
            ]
        }
    }

    private static func insert(_ values: [Value], into table: String, _ database: Database) throws {
        let places = values.map { _ in "?" }.joined(separator: ", ")
        try database.execute(
            sql: "INSERT OR REPLACE INTO \(table) VALUES (\(places))", arguments: StatementArguments(values))
    }

    private static func remember(_ node: SyncNode, at path: SyncPath, _ database: Database) throws {
        let version = node.version
        try insert([path.text, version?.size, version?.modified, version?.md5], into: "remote", database)
    }

    private static func delete(_ expected: SyncPath, in database: Database) throws {
        try database.execute(sql: "DELETE FROM expected WHERE path = ?", arguments: [expected.text])
    }

    /// Stores the contents of the server.
    ///
    /// - Parameters:
    ///   - old: The previously stored contents.
    ///   - sequence: The position in the change log before the listing; `nil` stores nothing.
    ///   - listed: The time of the last complete listing; `nil` if one is due.
    func setRemote(
        _ nodes: [SyncPath: SyncNode], insteadOf old: [SyncPath: SyncNode], at sequence: Int64?, listed: Date?
    ) throws(SyncStateFailure) {
        try perform { database in
            for path in old.keys where nodes[path] == nil {
                try database.execute(sql: "DELETE FROM remote WHERE path = ?", arguments: [path.text])
            }
            for (path, node) in nodes where old[path] != node { try Self.remember(node, at: path, database) }
            try Self.set("sequence", sequence, database)
            try Self.set("listed", listed.map { Int64($0.timeIntervalSince1970) }, database)
        }
    }

    private static func set(_ name: String, _ number: Int64?, _ database: Database) throws {
        guard let number else {
            return try database.execute(sql: "DELETE FROM meta WHERE name = ?", arguments: [name])
        }
        try database.execute(sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)", arguments: [name, String(number)])
    }

    func begin(_ upload: SyncUpload, at time: Date) throws(SyncStateFailure) {
        try perform { database in
            try database.execute(
                sql: "INSERT INTO upload VALUES (?, ?, ?)",
                arguments: [upload.id, upload.path.text, Int64(time.timeIntervalSince1970)])
        }
    }

    private static func delete(_ upload: SyncUpload, in database: Database) throws {
        try database.execute(sql: "DELETE FROM upload WHERE id = ?", arguments: [upload.id])
    }

    func close() {
        try? database.close()
    }
}
