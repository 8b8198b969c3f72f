import Basics
public import Foundation
import MatrixSDK

/// What a program's user has chosen about rooms and messages.
///
/// Kept in a JSON file if it has one: a change is written at once. A file that cannot be read is left as it is, and the
/// settings are the usual ones: see ``fileTrouble``.
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

        /// What a file leaves out is as usual.
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

    /// The settings of the program, in `matrixkit/settings.json` of its configuration folder (`$XDG_CONFIG_HOME`).
    public static func standard() -> MXKAppSettings { shared }

    /// `$XDG_CONFIG_HOME`, else `~/.config`; nil if neither is known.
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
    /// Why the file was not read, or not written, in words; nil if all is well.
    public private(set) var fileTrouble: String?
    /// A file that could not be read is not written over.
    private var mayWrite = true

    /// - Parameter file: Where they are kept; nil keeps them in memory.
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

    /// The usual settings again.
    open func reset() { values = Values() }

    // MARK: Sync

    /// Whether members are asked for when they are needed. Usually true.
    public var syncWithLazyLoadOfRoomMembers: Bool {
        get { values.lazyMembers }
        set { values.lazyMembers = newValue }
    }

    // MARK: What rooms show

    private static let usualTypes = [
        "m.room.create", "m.room.name", "m.room.topic", "m.room.member", "m.room.encrypted", "m.room.encryption",
        "m.room.history_visibility", "m.room.message", "m.room.third_party_invite", "m.room.guest_access",
        "m.room.join_rules", "m.call.invite", "m.call.answer", "m.call.hangup", "m.call.reject", "m.sticker",
        "m.poll.start", "org.matrix.msc3381.poll.start", "m.key.verification.cancel", "m.key.verification.done",
        "m.room.avatar", "m.room.tombstone",
    ]

    /// Whether every event is shown, whatever its type. Usually false.
    public var showAllEventsInRoomHistory: Bool {
        get { values.showsAllEvents }
        set { values.showsAllEvents = newValue }
    }

    /// The types of events that rooms show.
    public var eventsFilterForMessages: [String] {
        if showAllEventsInRoomHistory { return allEventTypesForMessages }
        return Self.usualTypes.filter { !values.removedTypes.contains($0) }
            + values.addedTypes.subtracting(Self.usualTypes).sorted()
    }

    /// The types of events that a data source of a room listens to. Some are not shown, but change what is.
    public var allEventTypesForMessages: [String] {
        Self.usualTypes + values.addedTypes.subtracting(Self.usualTypes).sorted() + [
            "m.room.power_levels", "m.room.aliases", "m.room.redaction", "m.reaction", "m.room.canonical_alias",
            "m.room.pinned_events", "m.room.server_acl", "m.space.child", "m.space.parent", "m.poll.response",
            "m.poll.end",
        ]
    }

    /// The types of events that can be the last message of a room.
    public var lastMessageEventTypesAllowList: [String] {
        [
            "m.room.message", "m.room.encrypted", "m.sticker", "m.call.invite", "m.room.member", "m.poll.start",
            "org.matrix.msc3381.poll.start",
        ]
    }

    /// Shows events of these types too.
    public func addSupportedEventTypes(_ eventTypes: [String]) {
        values.addedTypes.formUnion(eventTypes)
        values.removedTypes.subtract(eventTypes)
    }

    /// Shows events of these types no more.
    public func removeSupportedEventTypes(_ eventTypes: [String]) {
        values.addedTypes.subtract(eventTypes)
        values.removedTypes.formUnion(eventTypes)
    }

    /// Whether what was taken back leaves a sign. Usually false.
    public var showRedactionsInRoomHistory: Bool {
        get { values.showsRedactions }
        set { values.showsRedactions = newValue }
    }

    /// Whether events that nobody knows leave a sign. Usually false.
    public var showUnsupportedEventsInRoomHistory: Bool {
        get { values.showsUnsupportedEvents }
        set { values.showsUnsupportedEvents = newValue }
    }

    /// Whether encrypted events from before the user joined, which cannot be read, are left out. Usually false.
    public var hidePreJoinedUndecryptableEvents: Bool {
        get { values.hidesPreJoinedUndecryptable }
        set { values.hidesPreJoinedUndecryptable = newValue }
    }

    /// Whether encrypted events that cannot be read are left out. Usually false.
    public var hideUndecryptableEvents: Bool {
        get { values.hidesUndecryptable }
        set { values.hidesUndecryptable = newValue }
    }

    // MARK: Links

    /// What makes a link of the HTTP scheme. Usually `http`.
    public var httpLinkScheme: String {
        get { values.httpScheme }
        set { values.httpScheme = newValue }
    }

    /// What makes a link of the HTTPS scheme. Usually `https`.
    public var httpsLinkScheme: String {
        get { values.httpsScheme }
        set { values.httpsScheme = newValue }
    }

    /// Whether the first link of each message is looked for: ``MXKRoomBubbleComponent/link``. Usually false.
    public var enableBubbleComponentLinkDetection: Bool {
        get { values.detectsLinks }
        set { values.detectsLinks = newValue }
    }

    // MARK: Directory

    /// Homeservers beside the own one whose public rooms can be looked for: ``MXKDirectoryServersDataSource``.
    public var directoryServers: [String] {
        get { values.directoryServers }
        set { values.directoryServers = newValue }
    }

    // MARK: Members

    /// Whether members who were seen last come first. Usually true.
    public var sortRoomMembersUsingLastSeenTime: Bool {
        get { values.sortsMembersByLastSeen }
        set { values.sortsMembersByLastSeen = newValue }
    }

    /// Whether those who have left are among the members. Usually false.
    public var showLeftMembersInRoomMemberList: Bool {
        get { values.showsLeftMembers }
        set { values.showsLeftMembers = newValue }
    }
}
