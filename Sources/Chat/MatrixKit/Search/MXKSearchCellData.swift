public import MatrixSDK

/// What stands for the class that makes the cells of searches.
public let kMXKSearchCellDataIdentifier = "kMXKSearchCellDataIdentifier"

/// A message that a search has found.
@MainActor
public protocol MXKSearchCellDataStoring: MXKCellData {
    /// A message as the search gave it.
    init(searchResult: MXSearchResults.Result, searchDataSource: MXKSearchDataSource)

    /// The room.
    var roomId: String? { get }
    /// Who said it, and if ``shouldShowRoomDisplayName`` where.
    var title: String? { get }
    /// What was said, in one line.
    var message: String? { get }
    /// When it was said.
    var date: String? { get }
    /// As the search gave it. (The iOS SDK calls the type `MXSearchResult`.)
    var searchResult: MXSearchResults.Result { get }
    /// Whether ``title`` names the room.
    var shouldShowRoomDisplayName: Bool { get set }
    /// The room's name.
    var roomDisplayName: String? { get }
    /// The sender's name.
    var senderDisplayName: String? { get }
    /// The file of the message, if it has one.
    var attachment: MXKAttachment? { get }
}

/// A message that a search has found.
@MainActor
open class MXKSearchCellData: MXKCellData, MXKSearchCellDataStoring {
    /// As the search gave it.
    public let searchResult: MXSearchResults.Result
    /// Whether ``title`` names the room.
    public var shouldShowRoomDisplayName: Bool
    /// The search that it belongs to.
    public private(set) weak var dataSource: MXKSearchDataSource?
    /// The file of the message, if it has one.
    public let attachment: MXKAttachment?

    /// A message as the search gave it.
    public required init(searchResult: MXSearchResults.Result, searchDataSource: MXKSearchDataSource) {
        self.searchResult = searchResult
        dataSource = searchDataSource
        shouldShowRoomDisplayName = searchDataSource.shouldShowRoomDisplayName
        attachment = MXKAttachment(event: searchResult.event, mxSession: searchDataSource.mxSession)
        super.init()
    }

    private var room: MXRoom? { roomId.flatMap { dataSource?.mxSession?.room(withRoomId: $0) } }

    /// The room.
    public var roomId: String? { searchResult.event.roomId }
    /// The room's name.
    public var roomDisplayName: String? { room?.displayName ?? roomId }

    /// The sender's name.
    public var senderDisplayName: String? {
        let event = searchResult.event
        return searchResult.profiles[event.sender]?.displayName
            ?? dataSource?.formatter.senderDisplayName(for: event, with: room?.state) ?? event.sender
    }

    /// Who said it, and if ``shouldShowRoomDisplayName`` where.
    public var title: String? {
        guard shouldShowRoomDisplayName, let room = roomDisplayName else { return senderDisplayName }
        return senderDisplayName.map { "\($0) – \(room)" }
    }

    /// What was said, in one line.
    public var message: String? {
        let text = (try? dataSource?.formatter.text(from: searchResult.event, with: room?.state)) ?? nil
        return text.map { $0.plain.split(whereSeparator: \.isNewline).joined(separator: " ") }
    }

    /// When it was said.
    public var date: String? { dataSource?.formatter.dateString(from: searchResult.event, withTime: true) }
}
