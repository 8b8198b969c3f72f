import PydioProtocol
import TestSupport
import Testing

@Suite struct WorkspaceServicesTests {
    private static func read(_ properties: [String: String], others: String = "") throws -> WorkspaceServices? {
        let texts = properties.map { #"<property name="\#($0.key)">\#($0.value)</property>"# }.joined()
        let xml =
            #"<ajxp_registry_part xPath="plugins" ><plugins><ajxp_core id="core.mq"><plugin_configs>\#(texts)"#
            + "</plugin_configs></ajxp_core>\(others)</plugins></ajxp_registry_part>"
        return WorkspaceServices(registry: try XMLReader.read(Array(xml.utf8)))
    }

    @Test func theOlderGenerationsSettingsAreRead() throws {
        let services = try Self.read([
            "POLLER_FREQUENCY": "20", "WS_SERVER_ACTIVE": "true", "WS_SERVER_HOST": #""h.example""#,
            "WS_SERVER_PORT": "8090", "WS_SERVER_PATH": #""/pydio""#, "WS_SERVER_SECURE": "false",
        ])
        #expect(
            services
                == WorkspaceServices(
                    pollInterval: .seconds(20),
                    webSocket: .init(url: "ws://h.example:8090/pydio", host: "h.example", isSecure: false)))
    }

    @Test func theNewerGenerationsSettingsAreRead() throws {
        let services = try Self.read(
            [
                "WS_ACTIVE": #""true""#, "BOOSTER_MAIN_HOST": #""b.example""#, "BOOSTER_MAIN_PORT": #""8091""#,
                "BOOSTER_MAIN_SECURE": #""true""#, "WS_PATH": #""ws""#,
            ], others: #"<ajxp_plugin id="meta.syncable"/>"#)
        #expect(services?.hasFeed == true)
        #expect(services?.webSocket == .init(url: "wss://b.example:8091/ws", host: "b.example", isSecure: true))
    }

    @Test func itsOwnHostForWebSocketsWins() throws {
        let services = try Self.read([
            "WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": #""b.example""#, "BOOSTER_MAIN_PORT": "8090",
            "BOOSTER_WS_ADVANCED":
                #"{"booster_ws_advanced":"custom","WS_HOST":"w.example","WS_PORT":"443","WS_SECURE":true}"#,
        ])
        #expect(services?.webSocket == .init(url: "wss://w.example:443/ws", host: "w.example", isSecure: true))
    }

    @Test(arguments: [
        [:], ["WS_ACTIVE": "false", "BOOSTER_MAIN_HOST": "h"], ["WS_SERVER_ACTIVE": "true"],
        ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "user@evil"],
        ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "h/x?"],
        ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "h", "BOOSTER_MAIN_PORT": "99999"],
        ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "h", "BOOSTER_MAIN_PORT": "65536"],
        ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "h", "BOOSTER_MAIN_PORT": "0"],
    ])
    func whatIsNoAddressIsNone(properties: [String: String]) throws {
        let services = try #require(try Self.read(properties))
        #expect(services.webSocket == nil && services.hasMailbox)
    }

    @Test(arguments: [(nil, 8090), ("1", 1), ("65535", 65_535)] as [(String?, Int)])
    func anyPortWillDo(port: String?, expected: Int) throws {
        var properties = ["WS_ACTIVE": "true", "BOOSTER_MAIN_HOST": "h"]
        properties["BOOSTER_MAIN_PORT"] = port
        #expect(try Self.read(properties)?.webSocket?.url == "ws://h:\(expected)/ws")
    }

    @Test func aRegistryWithoutPluginsSaysNothing() throws {
        let root = try XMLReader.read(Array(#"<ajxp_registry_part xPath="plugins" ></ajxp_registry_part>"#.utf8))
        #expect(WorkspaceServices(registry: root) == nil)
    }
}

@Suite struct SocketFramesTests {
    private struct Incomplete: Error {}

    private var frames = SocketFrames()

    private mutating func receive(_ text: String) -> SocketFrames.Received { frames.received(Array(text.utf8)) }

    /// The server splits a document at its line breaks, wherever they are.
    @Test(arguments: [
        "<tree>\n<a><tree>\n</tree></a><reload_bookmarks/>\n</tree>", "<tree\n>\n<a/><reload_bookmarks/>\n</tree >",
        "<?xml version='1.0'?>\n<!-- > -->\n<tree\na='1'\n><reload_bookmarks/>\n</tree>\n",
    ])
    mutating func aDocumentInPiecesIsReadWithItsLast(text: String) throws {
        let pieces = text.split(separator: "\n").map(String.init)
        let end = try #require(pieces.indices.last)
        for piece in pieces[..<end] { #expect(receive(piece) == .incomplete) }
        guard case .messages(let messages) = receive(pieces[end]) else { throw Incomplete() }
        #expect(messages.last == .reloadBookmarks)
    }

    @Test mutating func theRestOfADocumentIsNotWaitedForForever() {
        #expect(receive("<tree>") == .incomplete)
        var isLost = frames.answered()
        #expect(!isLost)
        #expect(receive("<a>") == .incomplete)
        isLost = frames.answered()
        #expect(isLost)
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
        isLost = frames.answered()
        #expect(!isLost)
    }

    @Test mutating func eachFrameIsADocument() {
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
        #expect(receive("  ") == .incomplete)
    }

    @Test mutating func aLineBreakBetweenElementsIsOne() {
        #expect(receive("<tree><reload_bookmarks/>") == .incomplete)
        #expect(receive("</tree>") == .messages([.reloadBookmarks]))
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
    }

    @Test mutating func theRestOfADocumentThatNeverComesIsALoss() {
        #expect(receive("<tree><nodes_diff>") == .incomplete)
        #expect(receive("<tree><reload_bookmarks/></tree>") == .lost([.reloadBookmarks]))
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
    }

    @Test mutating func moreThanAMebibyteOrTooManyPartsIsALoss() {
        #expect(receive("<tree>" + String(repeating: "a", count: 1 << 20)) == .lost([]))
        for _ in 0..<SocketFrames.maximumParts { #expect(receive("<tree>") == .incomplete) }
        #expect(receive("<tree>") == .lost([]))
    }

    @Test mutating func aMebibyteIsNotTooMuch() {
        #expect(receive("<tree>" + String(repeating: "a", count: (1 << 20) - 6)) == .incomplete)
        #expect(receive("a") == .lost([]))
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
    }

    @Test mutating func aDocumentMayComeInSoManyParts() {
        for _ in 0..<SocketFrames.maximumParts { #expect(receive("<tree>") == .incomplete) }
        #expect(receive("<tree>") == .lost([]))
    }

    @Test mutating func clearedItBeginsAnew() {
        #expect(receive("<tree><nodes_diff>") == .incomplete)
        frames.clear()
        #expect(receive("<tree><reload_bookmarks/></tree>") == .messages([.reloadBookmarks]))
    }
}
