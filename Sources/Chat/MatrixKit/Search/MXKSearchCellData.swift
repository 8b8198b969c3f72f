public import MatrixSDK

/// The identifier of the class that creates the cells of searches.
public let kMXKSearchCellDataIdentifier = "kMXKSearchCellDataIdentifier"

/// A search result.
@MainActor
public protocol MXKSearchCellDataStoring: MXKCellData {
    /// Creates a cell from a search result.
    init(searchResult: MXSearchResults.Result, searchDataSource: MXKSearchDataSource)

    /// The room id.
    var roomId: String? { get }
    /// The sender, and the room if ``shouldShowRoomDisplayName`` is set.
    var title: String? { get }
    /// The message in one line.
    var message: String? { get }
    /// The date of the message.
    var date: String? { get }
    /// The search result. (The iOS SDK calls the type `MXSearchResult`.)
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

/// A search result.
@MainActor
open class MXKSearchCellData: MXKCellData, MXKSearchCellDataStoring {
    /// The search result.
    public let searchResult: MXSearchResults.Result
    /// Whether ``title`` names the room.
    public var shouldShowRoomDisplayName: Bool
    /// The data source of the cell.
    public private(set) weak var dataSource: MXKSearchDataSource?
    /// The file of the message, if it has one.
    public let attachment: MXKAttachment?

    /// Creates a cell from a search result.
    public required init(searchResult: MXSearchResults.Result, searchDataSource: MXKSearchDataSource) {
        self.searchResult = searchResult
        dataSource = searchDataSource
        shouldShowRoomDisplayName = searchDataSource.shouldShowRoomDisplayName
        attachment = MXKAttachment(event: searchResult.event, mxSession: searchDataSource.mxSession)
        super.init()
    }

    private var room: MXRoom? { roomId.flatMap { dataSource?.mxSession?.room(withRoomId: $0) } }

    /// The room id.
    public var roomId: String? { searchResult.event.roomId }
    /// The room's name.
    public var roomDisplayName: String? { room?.displayName ?? roomId }

    /// The sender's name.
    public var senderDisplayName: String? {
        let event = searchResult.event
        return searchResult.profiles[event.sender]?.displayName
            ?? dataSource?.formatter.senderDisplayName(for: event, with: room?.state) ?? event.sender
    }

    /// The sender, and the room if ``shouldShowRoomDisplayName`` is set.
    public var title: String? {
        guard shouldShowRoomDisplayName, let room = roomDisplayName else { return senderDisplayName }
        return senderDisplayName.map { "\($0) – \(room)" }
    }

    /// The message in one line.
    public var message: String? {
        let text = (try? dataSource?.formatter.text(from: searchResult.event, with: room?.state)) ?? nil
        return text.map { $0.plain.split(whereSeparator: \.isNewline).joined(separator: " ") }
    }

    /// The date of the message.
    public var date: String? { dataSource?.formatter.dateString(from: searchResult.event, withTime: true) }
}
