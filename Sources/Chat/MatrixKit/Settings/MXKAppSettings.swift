import Basics
public import Foundation
import MatrixSDK

/// The user's settings for rooms and messages.
///
/// If the settings have a JSON file, each change is written at once. If the file cannot be read, it is left as it is
/// and the defaults apply: see ``fileTrouble``.
@MainActor
open class MXKAppSettings {
    private struct Values: Codable, Equatable {
        var lazyMembers = true
        var showsAllEvents = false
        var showsRedactions = false
        var showsUnsupportedEvents = false
        var detectsLinks = false
        var hidesPreJoinedUndecryptable = false
        var hidesUndecryptable = false
        var sortsMembersByLastSeen = true
        var showsLeftMembers = false
        var httpScheme = "http"
        var httpsScheme = "https"
        var addedTypes: Set<String> = []
        var removedTypes: Set<String> = []
        var directoryServers: [String] = []

        init() {}

        /// Missing values use their defaults.
        init(from decoder: any Decoder) throws {
            let box = try decoder.container(keyedBy: CodingKeys.self)
            func read<Value: Decodable>(_ key: CodingKeys, _ value: inout Value) throws {
                value = try box.decodeIfPresent(Value.self, forKey: key) ?? value
            }
            try read(.lazyMembers, &lazyMembers)
            try read(.showsAllEvents, &showsAllEvents)
            try read(.showsRedactions, &showsRedactions)
            try read(.showsUnsupportedEvents, &showsUnsupportedEvents)
            try read(.detectsLinks, &detectsLinks)
            try read(.hidesPreJoinedUndecryptable, &hidesPreJoinedUndecryptable)
            try read(.hidesUndecryptable, &hidesUndecryptable)
            try read(.sortsMembersByLastSeen, &sortsMembersByLastSeen)
            try read(.showsLeftMembers, &showsLeftMembers)
            try read(.httpScheme, &httpScheme)
            try read(.httpsScheme, &httpsScheme)
            try read(.addedTypes, &addedTypes)
            try read(.removedTypes, &removedTypes)
            try read(.directoryServers, &directoryServers)
        }
    }

    private static let shared = MXKAppSettings(
        file: configurationFolder?.appending(path: "matrixkit").appending(path: "settings.json"))

    /// Returns the settings of the program, in `matrixkit/settings.json` of its configuration folder
    /// (`$XDG_CONFIG_HOME`).
    public static func standard() -> MXKAppSettings { shared }

    /// The configuration folder, `$XDG_CONFIG_HOME` or `~/.config`; `nil` if neither is known.
    package static var configurationFolder: URL? {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return URL(filePath: folder) }
        return environment["HOME"].map { URL(filePath: $0).appending(path: ".config") }
    }

    private let file: URL?
    private var values = Values() {
        didSet {
            if values != oldValue { write() }
        }
    }
    /// The reason why the file could not be read or written; `nil` if there was no error.
    public private(set) var fileTrouble: String?
    /// Never overwrite a file that could not be read.
    private var mayWrite = true

    /// - Parameter file: The file of the settings; `nil` keeps them in memory.
    public init(file: URL? = nil) {
        self.file = file
        guard let file, let data = try? Data(contentsOf: file) else { return }
        do {
            values = try JSONDecoder().decode(Values.self, from: data)
        } catch {
            mayWrite = false
            fileTrouble =
                "The settings in \(file.path()) cannot be read, and the usual ones are used: \(Self.words(error))"
        }
    }

    private static func words(_ error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context):
            let cause = (context.underlyingError as NSError?)?.userInfo["NSDebugDescription"] as? String
            return cause ?? context.debugDescription
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            return "“\(context.codingPath.map(\.stringValue).joined(separator: "."))” is of another type"
        case let error: return error.localizedDescription
        }
    }

    private func write() {
        guard let file, mayWrite else { return }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try PrivateFile(file.path).replace(with: try encoder.encode(values))
            fileTrouble = nil
        } catch let error as PrivateFileError {
            fileTrouble = "The settings could not be written: \(error)"
        } catch {
            fileTrouble = "The settings could not be written to \(file.path()): \(error.localizedDescription)"
        }
    }

    /// Restores the defaults.
    open func reset() { values = Values() }

    // MARK: Sync

    /// Whether to load members only when they are needed. The default is true.
    public var syncWithLazyLoadOfRoomMembers: Bool {
        get { values.lazyMembers }
        set { values.lazyMembers = newValue }
    }

    // MARK: Room contents

    private static let usualTypes = [
        "m.room.create", "m.room.name", "m.room.topic", "m.room.member", "m.room.encrypted", "m.room.encryption",
        "m.room.history_visibility", "m.room.message", "m.room.third_party_invite", "m.room.guest_access",
        "m.room.join_rules", "m.call.invite", "m.call.answer", "m.call.hangup", "m.call.reject", "m.sticker",
        "m.poll.start", "org.matrix.msc3381.poll.start", "m.key.verification.cancel", "m.key.verification.done",
        "m.room.avatar", "m.room.tombstone",
    ]

    /// Whether to show events of every type. The default is false.
    public var showAllEventsInRoomHistory: Bool {
        get { values.showsAllEvents }
        set { values.showsAllEvents = newValue }
    }

    /// The event types to show in rooms.
    public var eventsFilterForMessages: [String] {
        if showAllEventsInRoomHistory { return allEventTypesForMessages }
        return Self.usualTypes.filter { !values.removedTypes.contains($0) }
            + values.addedTypes.subtracting(Self.usualTypes).sorted()
    }

    /// The event types that a room's data source listens to. Some are not shown but change what is shown.
    public var allEventTypesForMessages: [String] {
        Self.usualTypes + values.addedTypes.subtracting(Self.usualTypes).sorted() + [
            "m.room.power_levels", "m.room.aliases", "m.room.redaction", "m.reaction", "m.room.canonical_alias",
            "m.room.pinned_events", "m.room.server_acl", "m.space.child", "m.space.parent", "m.poll.response",
            "m.poll.end",
        ]
    }

    /// The event types that can be the last message of a room.
    public var lastMessageEventTypesAllowList: [String] {
        [
            "m.room.message", "m.room.encrypted", "m.sticker", "m.call.invite", "m.room.member", "m.poll.start",
            "org.matrix.msc3381.poll.start",
        ]
    }

    /// Adds event types to show.
    public func addSupportedEventTypes(_ eventTypes: [String]) {
        values.addedTypes.formUnion(eventTypes)
        values.removedTypes.subtract(eventTypes)
    }

    /// Removes event types to show.
    public func removeSupportedEventTypes(_ eventTypes: [String]) {
        values.addedTypes.subtract(eventTypes)
        values.removedTypes.formUnion(eventTypes)
    }

    /// Whether to show a placeholder for redacted events. The default is false.
    public var showRedactionsInRoomHistory: Bool {
        get { values.showsRedactions }
        set { values.showsRedactions = newValue }
    }

    /// Whether to show a placeholder for unknown events. The default is false.
    public var showUnsupportedEventsInRoomHistory: Bool {
        get { values.showsUnsupportedEvents }
        set { values.showsUnsupportedEvents = newValue }
    }

    /// Whether to hide undecryptable events from before the user joined. The default is false.
    public var hidePreJoinedUndecryptableEvents: Bool {
        get { values.hidesPreJoinedUndecryptable }
        set { values.hidesPreJoinedUndecryptable = newValue }
    }

    /// Whether to hide undecryptable events. The default is false.
    public var hideUndecryptableEvents: Bool {
        get { values.hidesUndecryptable }
        set { values.hidesUndecryptable = newValue }
    }

    // MARK: Links

    /// The scheme of HTTP links. The default is `http`.
    public var httpLinkScheme: String {
        get { values.httpScheme }
        set { values.httpScheme = newValue }
    }

    /// The scheme of HTTPS links. The default is `https`.
    public var httpsLinkScheme: String {
        get { values.httpsScheme }
        set { values.httpsScheme = newValue }
    }

    /// Whether to look for the first link of each message: ``MXKRoomBubbleComponent/link``. The default is false.
    public var enableBubbleComponentLinkDetection: Bool {
        get { values.detectsLinks }
        set { values.detectsLinks = newValue }
    }

    // MARK: Directory

    /// The homeservers, apart from the user's own, whose public rooms can be listed: ``MXKDirectoryServersDataSource``.
    public var directoryServers: [String] {
        get { values.directoryServers }
        set { values.directoryServers = newValue }
    }

    // MARK: Members

    /// Whether to sort members by last activity. The default is true.
    public var sortRoomMembersUsingLastSeenTime: Bool {
        get { values.sortsMembersByLastSeen }
        set { values.sortsMembersByLastSeen = newValue }
    }

    /// Whether to list members who have left. The default is false.
    public var showLeftMembersInRoomMemberList: Bool {
        get { values.showsLeftMembers }
        set { values.showsLeftMembers = newValue }
    }
}
