import JSONBytes

/// An answer of `/sync` (client-server specification, "Syncing").
///
/// Events are views of the answer's bytes. Malformed parts are skipped and counted. An answer is refused only if it is
/// not a JSON object, or has no `next_batch` that fits into a request.
package struct SyncResponse: Sendable {
    /// The maximum size of `next_batch` in bytes: it becomes part of the next request's URL.
    private static let maximumTokenSize = 16 << 10

    /// Unread counts. Missing ones have not changed.
    package struct UnreadCounts: Sendable, Hashable {
        package var notificationCount: Int?
        package var highlightCount: Int?
    }

    /// The server's information on a room's members. Missing values have not changed.
    package struct RoomSummary: Sendable, Hashable {
        package var heroes: [String]?
        package var joinedMemberCount: Int?
        package var invitedMemberCount: Int?
    }

    package struct Timeline: Sendable {
        package var events: [MXEvent] = []
        /// Whether there is a gap before these events.
        package var isLimited = false
        package var prevBatch: String?
    }

    /// A room that we have joined or left.
    package struct Room: Sendable {
        package let roomId: String
        package var summary = RoomSummary()
        /// The state changes before the timeline or, with ``hasStateAfter``, up to its end.
        package var state: [MXEvent] = []
        package var hasStateAfter = false
        package var timeline = Timeline()
        package var ephemeral: [MXEvent] = []
        package var accountData: [MXEvent] = []
        package var unread: UnreadCounts?
        /// The counts of threads with unread messages, by root event; ``unread`` then excludes them. `nil` if the
        /// server did not send them.
        package var unreadThreads: MXDictionary<MXUnreadThread>?

        init(roomId: String) {
            self.roomId = roomId
        }
    }

    /// A room that we are invited to or have knocked on, with the part of its state that we may see.
    package struct StrippedRoom: Sendable {
        package let roomId: String
        package var state: [MXEvent] = []
    }

    package struct Refused: Error, Hashable {}

    package private(set) var nextBatch = ""
    package private(set) var joined: [Room] = []
    package private(set) var invited: [StrippedRoom] = []
    package private(set) var knocked: [StrippedRoom] = []
    package private(set) var left: [Room] = []
    package private(set) var presence: [MXEvent] = []
    package private(set) var accountData: [MXEvent] = []
    package private(set) var toDevice: [MXEvent] = []
    /// Users whose devices have changed, and users with whom we no longer share an encrypted room.
    package private(set) var changedDevices: [String] = []
    package private(set) var leftDevices: [String] = []
    package private(set) var oneTimeKeyCounts: [String: Int] = [:]  // own names: one algorithm's is read
    package private(set) var unusedFallbackKeyTypes: [String]?
    /// The number of malformed events and sections that were skipped.
    package private(set) var malformedParts = 0
    /// The number of rooms skipped because of invalid ids.
    package private(set) var refusedRooms = 0
    /// The size in bytes.
    private var size = 0

    package init(_ bytes: [UInt8]) throws(Refused) {
        guard bytes.count < Int(UInt32.max) else { throw Refused() }
        var response = SyncResponse()
        let isRead = bytes.withUnsafeBufferPointer { buffer -> Bool in
            guard let cursor = JSONCursor(buffer) else { return false }
            var reader = Reader(cursor: cursor, bytes: bytes)
            do throws(JSONCursor.Malformed) {
                try reader.read(into: &response)
                return reader.isAtEnd
            } catch {
                return false
            }
        }
        guard isRead, !response.nextBatch.isEmpty, response.nextBatch.utf8.count <= Self.maximumTokenSize else {
            throw Refused()
        }
        response.size = bytes.count
        self = response
    }

    private init() {}

    /// Whether events of joined rooms make up more than half of the bytes.
    var isMostlyRooms: Bool {
        func sum(_ events: [MXEvent]) -> Int { events.reduce(0) { $0 + $1.json.range.count } }
        return joined.reduce(0) { $0 + sum($1.state) + sum($1.timeline.events) } > size / 2
    }

    /// Replaces the messages to this device with those meant for the application.
    package mutating func setToDevice(_ events: [MXEvent]) { toDevice = events }

    /// Replaces all timeline events with the results of `body`.
    package mutating func replaceTimelineEvents<Failure: Error>(
        _ body: (MXEvent) throws(Failure) -> MXEvent
    ) throws(Failure) {
        for index in joined.indices { try joined[index].timeline.replaceEvents(body) }
        for index in left.indices { try left[index].timeline.replaceEvents(body) }
    }
}

extension SyncResponse.Timeline {
    fileprivate mutating func replaceEvents<Failure: Error>(
        _ body: (MXEvent) throws(Failure) -> MXEvent
    ) throws(Failure) {
        for index in events.indices { events[index] = try body(events[index]) }
    }
}

extension SyncResponse {
    private struct Reader {
        typealias Malformed = JSONCursor.Malformed

        var cursor: JSONCursor
        let bytes: [UInt8]
        var malformedParts = 0
        var refusedRooms = 0

        var isAtEnd: Bool { mutating get { cursor.peek() == nil } }

        mutating func read(into response: inout SyncResponse) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                if reader.cursor.isKey(key, "rooms") {
                    try reader.readRooms(into: &response)
                } else if reader.cursor.isKey(key, "next_batch") {
                    response.nextBatch = try reader.value().string ?? ""
                } else if reader.cursor.isKey(key, "presence") {
                    try reader.readEvents(into: &response.presence)
                } else if reader.cursor.isKey(key, "account_data") {
                    try reader.readEvents(into: &response.accountData)
                } else if reader.cursor.isKey(key, "to_device") {
                    try reader.readEvents(into: &response.toDevice)
                } else if reader.cursor.isKey(key, "device_lists") {
                    let lists = try reader.value()
                    response.changedDevices = lists["changed"]?.array?.compactMap(\.string) ?? []
                    response.leftDevices = lists["left"]?.array?.compactMap(\.string) ?? []
                } else if reader.cursor.isKey(key, "device_one_time_keys_count") {
                    for (name, count) in try reader.value().members { response.oneTimeKeyCounts[name] = count.count }
                } else if reader.cursor.isKey(key, "device_unused_fallback_key_types") {
                    response.unusedFallbackKeyTypes = try reader.value().array?.compactMap(\.string)
                } else {
                    _ = try reader.cursor.skipValue()
                }
            }
            response.malformedParts = malformedParts
            response.refusedRooms = refusedRooms
        }

        private mutating func readRooms(into response: inout SyncResponse) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                if reader.cursor.isKey(key, "join") {
                    try reader.readRooms(into: &response.joined)
                } else if reader.cursor.isKey(key, "leave") {
                    try reader.readRooms(into: &response.left)
                } else if reader.cursor.isKey(key, "invite") {
                    try reader.readStripped("invite_state", into: &response.invited)
                } else if reader.cursor.isKey(key, "knock") {
                    try reader.readStripped("knock_state", into: &response.knocked)
                } else {
                    _ = try reader.cursor.skipValue()
                }
            }
        }

        private mutating func readRooms(into rooms: inout [Room]) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                var room = Room(roomId: reader.text(key))
                try reader.read(&room)
                if reader.accepts(room.roomId) { rooms.append(room) }
            }
        }

        private mutating func readStripped(
            _ section: StaticString, into rooms: inout [StrippedRoom]
        ) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                var room = StrippedRoom(roomId: reader.text(key))
                try reader.object { reader, key throws(Malformed) in
                    guard reader.cursor.isKey(key, section) else {
                        _ = try reader.cursor.skipValue()
                        return
                    }
                    try reader.readEvents(of: room.roomId, into: &room.state)
                }
                if reader.accepts(room.roomId) { rooms.append(room) }
            }
        }

        /// Returns whether a room id is valid, and counts invalid ones. Servers choose ids within limits (Matrix, "Room
        /// IDs").
        private mutating func accepts(_ roomId: String) -> Bool {
            let isID =
                roomId.hasPrefix("!") && (2...255).contains(roomId.utf8.count)
                && roomId.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
            if !isID { refusedRooms += 1 }
            return isID
        }

        private mutating func read(_ room: inout Room) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                if reader.cursor.isKey(key, "timeline") {
                    try reader.readTimeline(of: room.roomId, into: &room.timeline)
                } else if reader.cursor.isKey(key, "state_after") {
                    room.state = []
                    room.hasStateAfter = true
                    try reader.readEvents(of: room.roomId, into: &room.state)
                } else if reader.cursor.isKey(key, "state"), !room.hasStateAfter {
                    try reader.readEvents(of: room.roomId, into: &room.state)
                } else if reader.cursor.isKey(key, "ephemeral") {
                    try reader.readEvents(of: room.roomId, into: &room.ephemeral)
                } else if reader.cursor.isKey(key, "account_data") {
                    try reader.readEvents(of: room.roomId, into: &room.accountData)
                } else if reader.cursor.isKey(key, "summary") {
                    let summary = try reader.value()
                    room.summary.heroes = summary["m.heroes"]?.array?.compactMap(\.string)
                    room.summary.joinedMemberCount = summary["m.joined_member_count"]?.count
                    room.summary.invitedMemberCount = summary["m.invited_member_count"]?.count
                } else if reader.cursor.isKey(key, "unread_notifications") {
                    room.unread = UnreadCounts(try reader.value())
                } else if reader.cursor.isKey(key, "unread_thread_notifications") {
                    room.unreadThreads = Self.unreadThreads(try reader.value())
                } else {
                    _ = try reader.cursor.skipValue()
                }
            }
        }

        private static func unreadThreads(_ json: JSONView) -> MXDictionary<MXUnreadThread>? {
            guard json.isObject else { return nil }
            var threads = MXDictionary<MXUnreadThread>()
            for (root, counts) in json.members {
                let thread = MXUnreadThread(SyncResponse.UnreadCounts(counts))
                threads[root] = thread == MXUnreadThread() ? nil : thread
            }
            return threads
        }

        private mutating func readTimeline(of roomId: String, into timeline: inout Timeline) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                if reader.cursor.isKey(key, "events") {
                    try reader.readArray(of: roomId, into: &timeline.events)
                } else if reader.cursor.isKey(key, "limited") {
                    timeline.isLimited = try reader.value().bool ?? false
                } else if reader.cursor.isKey(key, "prev_batch") {
                    timeline.prevBatch = try reader.value().string
                } else {
                    _ = try reader.cursor.skipValue()
                }
            }
        }

        /// Reads the `events` of an object.
        private mutating func readEvents(of roomId: String? = nil, into events: inout [MXEvent]) throws(Malformed) {
            try object { reader, key throws(Malformed) in
                if reader.cursor.isKey(key, "events") {
                    try reader.readArray(of: roomId, into: &events)
                } else {
                    _ = try reader.cursor.skipValue()
                }
            }
        }

        private mutating func readArray(of roomId: String?, into events: inout [MXEvent]) throws(Malformed) {
            guard cursor.peek() == UInt8(ascii: "[") else { return try leaveOut() }
            var malformed = 0
            let bytes = bytes
            try cursor.array { cursor throws(Malformed) in
                if let event = try MXEvent.read(&cursor, of: bytes, roomId: roomId) {
                    events.append(event)
                } else {
                    malformed += 1
                }
            }
            malformedParts += malformed
        }

        /// Reads an object and skips any other value.
        private mutating func object(
            _ body: (inout Reader, JSONCursor.Text) throws(Malformed) -> Void
        ) throws(Malformed) {
            guard cursor.peek() == UInt8(ascii: "{") else { return try leaveOut() }
            var reader = self
            try cursor.object { cursor, key throws(Malformed) in
                reader.cursor = cursor
                try body(&reader, key)
                cursor = reader.cursor
            }
            (malformedParts, refusedRooms) = (reader.malformedParts, reader.refusedRooms)
        }

        private mutating func leaveOut() throws(Malformed) {
            _ = try cursor.skipValue()
            malformedParts += 1
        }

        private mutating func value() throws(Malformed) -> JSONView {
            JSONView(bytes: bytes, range: try cursor.skipValue())
        }

        private func text(_ key: JSONCursor.Text) -> String {
            bytes.withUnsafeBufferPointer {
                JSONString.text(UnsafeBufferPointer(rebasing: $0[key.range])) ?? ""
            }
        }
    }
}

extension SyncResponse.UnreadCounts {
    init(_ json: JSONView) {
        notificationCount = json["notification_count"]?.count
        highlightCount = json["highlight_count"]?.count
    }
}

extension MXUnreadThread {
    fileprivate init(_ counts: SyncResponse.UnreadCounts) {
        self.init(notificationCount: counts.notificationCount ?? 0, highlightCount: counts.highlightCount ?? 0)
    }
}

extension JSONView {
    /// A number of things, as a server reports it: limited so that sums cannot overflow, and never negative.
    var count: Int? { int.map { min(max($0, 0), Int(Int32.max)) } }
}
